// Random graphs, with sharing and cycles, are the same after they were written and read.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/pickle/graph.h"
#include "tests/support/result.h"

namespace dcpctl::pickle {
namespace {

// Builds a graph by a list of numbers: each makes a value of those that there are, or changes one.
class RandomGraph {
 public:
  explicit RandomGraph(const std::vector<uint32_t>& steps) : steps_(steps) {
    values_.push_back(document_.None());
    while (at_ < steps_.size()) Step();
    document_.SetRoot(document_.Tuple(values_));
  }
  Document& document() { return document_; }

 private:
  uint32_t Next() { return at_ < steps_.size() ? steps_[at_++] : 0; }
  Value Any() { return values_[Next() % values_.size()]; }
  std::vector<Value> Some() {
    std::vector<Value> some;
    for (uint32_t i = Next() % 6; i > 0; --i) some.push_back(Any());
    return some;
  }
  std::string Text() {
    constexpr std::string_view kPieces[] = {"a", "\n",        "\xc3\xa9", "\xf0\x9f\x98\x80", "\xed\xa0\x80",
                                            ".", "long text "};
    std::string text;
    for (uint32_t i = Next() % 5; i > 0; --i) text += kPieces[Next() % std::size(kPieces)];
    return text;
  }
  std::string Bytes() {
    std::string bytes;
    for (uint32_t i = Next() % 12; i > 0; --i) bytes += static_cast<char>(Next());
    return bytes;
  }
  int64_t Number() { return static_cast<int64_t>(uint64_t{Next()} << 32 | Next()) >> (Next() % 64); }

  void Step() {
    if (Next() % 3 == 0) return Change(Any());
    values_.push_back(Make());
  }

  Value Make() {
    switch (Next() % 17) {
      case 0: return document_.Bool(Next() % 2 == 0);
      case 1: return document_.Int(Number());
      case 2: return document_.BigInt(Bytes());
      case 3: return document_.Float(static_cast<double>(Number()) / 3);
      case 4: return document_.String(Text());
      case 5: return document_.Bytes(Bytes());
      case 6: return document_.ByteArray(Bytes());
      case 7:
      case 8: return document_.Tuple(Some());
      case 9: return document_.FrozenSet(Some());
      case 10: return document_.List();
      case 11: return document_.Dict();
      case 12: return document_.Set();
      case 13: return document_.Global("module", Next() % 2 == 0 ? "Name" : "Outer.Inner.Name");
      case 14: return document_.PersistentId(Any());
      default: return MakeObject();
    }
  }

  Value MakeObject() {
    const Value callable = document_.Global("module", "Class" + std::to_string(Next() % 3));
    const auto construct = static_cast<Construct>(Next() % 3);
    const Value args = document_.Tuple(Some());
    if (construct != Construct::kNewObjEx) return document_.Object(construct, callable, args);
    const Value kwargs = document_.Dict();
    if (Next() % 2 == 0) document_.SetItem(kwargs, document_.String("k"), Any());
    return document_.Object(construct, callable, args, kwargs);
  }

  // Values that came later may go into earlier ones, which makes cycles.
  void Change(Value value) {
    switch (value.kind()) {
      case Kind::kList: return document_.Append(value, Any());
      case Kind::kDict: return document_.SetItem(value, Any(), Any());
      case Kind::kObject: break;
      default: return;
    }
    switch (Next() % 4) {
      case 0: return document_.Append(value, Any());
      case 1: return document_.SetItem(value, Any(), Any());
      case 2: return document_.Add(value, Any());
      default: return document_.SetState(value, Any());
    }
  }

  const std::vector<uint32_t>& steps_;
  size_t at_ = 0;
  Document document_;
  std::vector<Value> values_;
};

RC_GTEST_PROP(PickleRoundTrip, KeepsTheShape, (const std::vector<uint32_t>& steps)) {
  RandomGraph graph(steps);
  const Value root = graph.document().root();
  for (const int protocol : {2, 4}) {
    const std::string bytes = MustWrite(root, protocol);
    const Document again = MustRead(bytes);
    RC_ASSERT(Shape(again.root()) == Shape(root));
    // Written a second time, values that the protocol spells as calls are calls; from then on nothing changes.
    const std::string second = MustWrite(again.root(), protocol);
    RC_ASSERT(MustWrite(MustRead(second).root(), protocol) == second);
  }
}

RC_GTEST_PROP(PickleRoundTrip, KeepsTheShapeThroughAnImport, (const std::vector<uint32_t>& steps)) {
  RandomGraph graph(steps);
  Document target;
  Document::Importer importer(target, nullptr);
  const Value copy = test::Value(importer.Import(graph.document().root()));
  RC_ASSERT(Shape(copy) == Shape(graph.document().root()));
}

// Whatever bytes come, the reader returns; what it accepts can be printed and written.
RC_GTEST_PROP(PickleRoundTrip, TakesAnyBytes, (const std::vector<uint8_t>& bytes)) {
  const Result<Document> document = ReadPickle(std::as_bytes(std::span(bytes)), ReadOptions{});
  if (!document) return;
  (void)Print(document->root(), PrintOptions{.max_bytes = 10'000});
  (void)WritePickle(document->root());
}

}  // namespace
}  // namespace dcpctl::pickle
