#include "pickle/two_pass_writer.h"

#include <gtest/gtest.h>

#include <string>

#include "dcpctl/pickle.h"
#include "support/result.h"

namespace dcpctl::pickle {
namespace {

std::string Written(const Document& document) { return test::Value(WritePickle(document.root(), {.protocol = 4})); }

TEST(TwoPassWriter, WritesWhatTheWriterOfDocumentsDoes) {
  Document document;
  const Value list = document.List();
  document.Append(list, document.String("twice"));
  document.Append(list, document.String("once"));
  document.Append(list, document.String("twice"));
  document.Append(list, document.Tuple({}));
  document.Append(list, document.Tuple({document.Int(1), document.Int(-70000), document.Int(int64_t{1} << 40)}));
  document.Append(list,
                  document.Tuple({document.None(), document.Bool(true), document.Bool(false), document.Int(300)}));
  for (int i = 0; i < 2; ++i) document.Append(list, document.Call(document.Global("torch", "Size"), {document.Int(i)}));
  const Value object = document.Object(Construct::kNewObj, document.Global("torch", "twice"), document.Tuple({}));
  const Value state = document.Dict();
  document.SetItem(state, document.String("a"), document.Int(1));
  document.SetItem(state, document.String("b"), document.String("torch"));
  document.SetState(object, state);
  document.Append(list, object);
  document.SetRoot(list);

  TwoPassWriter out;
  const auto describe = [&](size_t item) {
    switch (item) {
      case 0:
      case 2: return out.Use(out.Text("twice"));
      case 1: return out.Use(out.Text("once"));
      case 3: out.BeginTuple(0); return out.EndTuple(0);
      case 4:
        out.BeginTuple(3);
        for (const int64_t number : {int64_t{1}, int64_t{-70000}, int64_t{1} << 40}) out.Int(number);
        return out.EndTuple(3);
      case 5:
        out.BeginTuple(4);
        out.None();
        out.Bool(true);
        out.Bool(false);
        out.Int(300);
        return out.EndTuple(4);
      case 6:
      case 7: return out.Call(out.Global("torch", "Size"), [&] { out.Int(static_cast<int64_t>(item) - 6); });
      default: break;
    }
    out.Instance(out.Global("torch", "twice"));
    out.BeginAttributes();
    out.Use(out.Text("a"));
    out.Int(1);
    out.Use(out.Text("b"));
    out.Use(out.Text("torch"));
    out.EndAttributes();
  };
  EXPECT_EQ(test::Value(out.Run([&] { out.List(9, describe); })), Written(document));
}

// Of 1000 entries each, and a last one that may be short.
TEST(TwoPassWriter, WritesContainersInTheSameBatches) {
  for (const size_t count : {0U, 1U, 2U, 1000U, 1001U, 1002U, 2000U}) {
    Document document;
    const Value list = document.List();
    const Value dict = document.Dict();
    for (size_t i = 0; i < count; ++i) {
      const Value number = document.Int(static_cast<int64_t>(i));
      document.Append(list, number);
      document.SetItem(dict, number, document.String("value"));
    }
    document.SetRoot(document.Tuple({list, dict}));

    TwoPassWriter out;
    const TwoPassWriter::Name value = out.Text("value");
    const auto describe = [&] {
      out.BeginTuple(2);
      out.List(count, [&](size_t i) { out.Int(static_cast<int64_t>(i)); });
      out.Dict(count, [&](size_t i) {
        out.Int(static_cast<int64_t>(i));
        out.Use(value);
      });
      out.EndTuple(2);
    };
    EXPECT_EQ(test::Value(out.Run(describe)), Written(document)) << count;
  }
}

TEST(TwoPassWriter, KnowsTheLimit) {
  Limits limits;
  limits.pickle_bytes = 10;
  const auto written = [&](const std::string& text) {
    TwoPassWriter out;
    return out.Run([&] { out.Use(out.Text(text)); }, limits);
  };
  EXPECT_EQ(test::Value(written("12345")).size(), 10U);
  EXPECT_EQ(test::ErrorOf(written("123456")).kind(), ErrorKind::kLimit);
}

}  // namespace
}  // namespace dcpctl::pickle
