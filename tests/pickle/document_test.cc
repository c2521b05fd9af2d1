// Building values and taking them apart.
#include <gtest/gtest.h>

#include <cstdint>

#include <vector>

#include <array>

#include <stdexcept>

#include "pickle/memo.h"
#include "tests/pickle/graph.h"

namespace dcpctl::pickle {
namespace {

using namespace std::string_view_literals;

TEST(PickleDocument, KeepsScalars) {
  Document document;
  for (const int64_t value : {int64_t{0}, (int64_t{1} << 30) - 1, int64_t{1} << 30, -(int64_t{1} << 30),
                              -(int64_t{1} << 30) - 1, INT64_MAX, INT64_MIN}) {
    EXPECT_EQ(document.Int(value).AsInt(), value);
    EXPECT_TRUE(document.Int(value).Is(Kind::kInt));
  }
  EXPECT_EQ(document.Float(-0.5).AsFloat(), -0.5);
  EXPECT_TRUE(document.Bool(true).AsBool());
  EXPECT_FALSE(document.Bool(false).AsBool());
  EXPECT_TRUE(document.None().Is(Kind::kNone));
  EXPECT_EQ(document.Bytes("\0\xff"sv).AsText(), "\0\xff"sv);
  EXPECT_EQ(document.ByteArray("b").kind(), Kind::kByteArray);
}

TEST(PickleDocument, BigIntThatFitsIsAnInt) {
  Document document;
  EXPECT_EQ(document.BigInt("\xff\xff"sv).AsInt(), -1);
  EXPECT_EQ(document.BigInt("\0\0\0\0\0\0\0\0\x01\0"sv).AsText(), "\0\0\0\0\0\0\0\0\x01"sv);
}

TEST(PickleDocument, SharesEqualStringsAndGlobals) {
  Document document;
  EXPECT_EQ(document.String("a").identity(), document.String(std::string("a")).identity());
  EXPECT_NE(document.String("a").identity(), document.String("b").identity());
  EXPECT_EQ(document.Global("m", "n").identity(), document.Global("m", "n").identity());
  EXPECT_NE(document.Global("m", "n").identity(), document.Global("n", "m").identity());
}

TEST(PickleDocument, CopiesText) {
  Document document;
  std::string text = "before";
  const Value value = document.String(text);
  text = "after!";
  EXPECT_EQ(value.AsText(), "before");
}

TEST(PickleDocument, ContainersGrow) {
  Document document;
  const Value first = document.List();
  const Value second = document.Dict();
  for (int i = 0; i < 1000; ++i) {  // in turn, so that neither is last in memory
    document.Append(first, document.Int(i));
    document.SetItem(second, document.Int(i), first);
  }
  ASSERT_EQ(first.size(), 1000u);
  ASSERT_EQ(second.size(), 1000u);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(first[static_cast<size_t>(i)].AsInt(), i);
    ASSERT_EQ(second.key(static_cast<size_t>(i)).AsInt(), i);
    ASSERT_EQ(second.value(static_cast<size_t>(i)).identity(), first.identity());
  }
}

TEST(PickleDocument, ObjectsKeepOperationsInOrder) {
  Document document;
  const Value object = document.Object(Construct::kNewObj, document.Global("m", "C"), document.Tuple({}));
  EXPECT_EQ(object.operation_count(), 0u);
  EXPECT_FALSE(object.state().has_value());
  document.SetState(object, document.Int(-1));  // the compact form
  EXPECT_EQ(object.state()->AsInt(), -1);
  for (int i = 0; i < 50; ++i) document.Append(object, document.Int(i));
  EXPECT_EQ(object.state()->AsInt(), -1);  // what comes later is none
  EXPECT_FALSE(object.has_set_item());
  document.SetItem(object, document.String("k"), document.Bool(true));
  EXPECT_TRUE(object.has_set_item());
  document.Add(object, document.None());
  document.SetState(object, document.Int(-2));
  ASSERT_EQ(object.operation_count(), 54u);
  EXPECT_EQ(object.operation(0).kind, OperationKind::kState);
  EXPECT_EQ(object.operation(0).first.AsInt(), -1);
  EXPECT_EQ(object.operation(50).first.AsInt(), 49);
  EXPECT_EQ(object.operation(51).kind, OperationKind::kSetItem);
  EXPECT_EQ(object.operation(51).second->AsBool(), true);
  EXPECT_EQ(object.operation(52).kind, OperationKind::kAddItem);
  EXPECT_FALSE(object.operation(52).second.has_value());
  EXPECT_EQ(object.state()->AsInt(), -2);
  EXPECT_EQ(object.args().size(), 0u);
  EXPECT_EQ(object.callable().name(), "C");
}

TEST(PickleDocument, ObjectsMayHaveNoState) {
  Document document;
  const Value object = document.Object(Construct::kNewObj, document.Global("m", "C"), document.Tuple({}));
  EXPECT_FALSE(object.has_set_item());
  document.SetItem(object, document.Int(1), document.Int(2));
  EXPECT_FALSE(object.state().has_value());
  EXPECT_TRUE(object.has_set_item());
  document.SetState(object, document.Int(3));
  for (int i = 0; i < 10; ++i) document.Append(object, document.Int(i));
  EXPECT_EQ(object.state()->AsInt(), 3);
}

TEST(PickleDocument, KeywordArgumentsGoWithTheirConstruction) {
  Document document;
  const Value cls = document.Global("m", "C");
  const Value kwargs = document.Dict();
  const Value object = document.Object(Construct::kNewObjEx, cls, document.Tuple({cls}), kwargs);
  EXPECT_EQ(object.kwargs()->identity(), kwargs.identity());
  document.SetState(object, document.None());
  EXPECT_EQ(object.args().size(), 1u);
  EXPECT_FALSE(document.Call(cls, {}).kwargs().has_value());
  EXPECT_THROW((void)document.Object(Construct::kReduce, cls, document.Tuple({}), kwargs), std::logic_error);
  EXPECT_THROW((void)document.Object(Construct::kNewObjEx, cls, document.Tuple({})), std::logic_error);
}

TEST(PickleDocument, RefusesMisuse) {
  Document document;
  EXPECT_THROW(document.Append(document.Dict(), document.None()), std::logic_error);
  EXPECT_THROW(document.Add(document.List(), document.None()), std::logic_error);
  EXPECT_THROW(document.SetItem(document.Set(), document.None(), document.None()), std::logic_error);
  EXPECT_THROW(document.SetState(document.List(), document.None()), std::logic_error);
}

TEST(PickleDocument, StaysValidWhenMoved) {
  Document first;
  first.SetRoot(first.List());
  first.Append(first.root(), first.String("x"));
  const Document second = std::move(first);
  EXPECT_EQ(second.root()[0].AsText(), "x");
}

TEST(PickleDocument, CountsItsMemory) {
  Document document;
  const size_t before = document.memory_bytes();
  (void)document.Bytes(std::string(100'000, 'x'));
  EXPECT_GE(document.memory_bytes(), before + 100'000);
}

TEST(PickleDocument, KeepsOwnersAlive) {
  auto owner = std::make_shared<int>(1);
  {
    Document document;
    document.KeepAlive(owner);
    EXPECT_EQ(owner.use_count(), 2);
  }
  EXPECT_EQ(owner.use_count(), 1);
}

TEST(PickleValue, RefusesWhatItsKindHasNot) {
  Document document;
  const Value number = document.Int(1);
  const Value list = document.List();
  document.Append(list, number);
  EXPECT_THROW((void)number.AsText(), std::logic_error);
  EXPECT_THROW((void)number.size(), std::logic_error);
  EXPECT_THROW((void)number.AsBool(), std::logic_error);
  EXPECT_THROW((void)list.AsInt(), std::logic_error);
  EXPECT_THROW((void)list.AsFloat(), std::logic_error);
  EXPECT_THROW((void)list[1], std::logic_error);
  EXPECT_THROW((void)list.key(0), std::logic_error);
  EXPECT_THROW((void)list.value(0), std::logic_error);
  EXPECT_THROW((void)list.Find("a"), std::logic_error);
  EXPECT_THROW((void)document.Dict()[0], std::logic_error);
  EXPECT_THROW((void)list.module(), std::logic_error);
  EXPECT_THROW((void)list.name(), std::logic_error);
  EXPECT_THROW((void)list.callable(), std::logic_error);
  EXPECT_THROW((void)list.args(), std::logic_error);
  EXPECT_THROW((void)list.kwargs(), std::logic_error);
  EXPECT_THROW((void)list.construct(), std::logic_error);
  EXPECT_THROW((void)list.state(), std::logic_error);
  EXPECT_THROW((void)list.operation(0), std::logic_error);
  EXPECT_THROW((void)list.persistent_id(), std::logic_error);
}

TEST(PickleValue, FindsTheLastOfEqualKeys) {
  const Document document = MustRead(
      "}(\x8c\x01"
      "aK\x01K\x05K\x02\x8c\x01"
      "aK\x03u.");
  EXPECT_EQ(document.root().Find("a")->AsInt(), 3);
  EXPECT_FALSE(document.root().Find("b").has_value());
}

TEST(PickleValue, GlobalsMatchInEitherSpelling) {
  Document document;
  EXPECT_TRUE(document.Global("__builtin__", "long").IsGlobal("builtins", "int"));
  EXPECT_TRUE(document.Global("builtins", "int").IsGlobal("__builtin__", "long"));
  EXPECT_TRUE(document.Global("copy_reg", "_reconstructor").IsGlobal("copyreg", "_reconstructor"));
  EXPECT_FALSE(document.Global("other", "long").IsGlobal("other", "int"));
  EXPECT_FALSE(document.None().IsGlobal("builtins", "None"));
  EXPECT_TRUE(document.Call(document.Global("__builtin__", "set"), {}).IsCallOf("builtins", "set"));
}

TEST(PickleValue, BytesAreKnownInEachSpelling) {
  Document document;
  const auto encoded = [&](std::string_view text, std::string_view encoding) {
    return AsBytes(
        document.Call(document.Global("_codecs", "encode"), {document.String(text), document.String(encoding)}));
  };
  EXPECT_EQ(AsBytes(document.Bytes("a")), "a");
  EXPECT_EQ(encoded("\xc3\xbf\0"sv, "latin1"), "\xff\0"sv);
  EXPECT_EQ(encoded("\xe2\x82\xac", "latin1"), std::nullopt);  // not a byte
  EXPECT_EQ(encoded("a", "utf-16"), std::nullopt);
  EXPECT_EQ(AsBytes(document.Call(document.Global("__builtin__", "bytes"), {})), "");
  EXPECT_EQ(AsBytes(document.String("a")), std::nullopt);
  EXPECT_EQ(AsBytes(document.ByteArray("a")), std::nullopt);
}

TEST(PickleArena, KeepsTextOfAnyLength) {
  Document document;
  const char* const anywhere = "only its address and length are kept";
  for (const size_t length : {(size_t{1} << 28) - 2, (size_t{1} << 28) - 1, size_t{1} << 28, size_t{1} << 40}) {
    const Ref ref = document.arena().AddText(Kind::kBytes, std::string_view(anywhere, length));
    EXPECT_EQ(document.arena().TextOf(ref).data(), anywhere);
    EXPECT_EQ(document.arena().TextOf(ref).size(), length);
    EXPECT_EQ(document.arena().words.size() - ref, document.arena().WordsOf(ref));
  }
}

TEST(PickleArena, KnowsTheSizeOfEachNode) {
  const std::string_view bytes =
      "(cm\nn\n)R"         // REDUCE
      "cm\nn\n)\x81}b"     // NEWOBJ with a state
      "cm\nn\n)}\x92"      // NEWOBJ_EX
      "J\0\0\0\x50"        // an integer that is not inline
      "G\0\0\0\0\0\0\0\0"  // a float
      "X\x01\0\0\0a"       // a string
      "\x8a\x09\0\0\0\0\0\0\0\0\x01"
      "K\x01K\x02K\x03\x87"  // a tuple
      "]}\x8f(N\x91NQt."sv;
  const Document document = MustRead(bytes);
  const Document::Arena& arena = document.arena();
  size_t ref = 0;
  while (ref < arena.words.size()) ref += arena.WordsOf(static_cast<Ref>(ref));
  EXPECT_EQ(ref, arena.words.size());
  EXPECT_EQ(document.Globals().size(), 3u);
}

TEST(PickleArena, SaysWhenItIsFull) {
  Document document;
  Document::Arena& arena = document.arena();
  const Ref list = arena.AddContainer(Kind::kList);
  const Ref object = arena.AddObject(Construct::kReduce, kNoneRef, kNoneRef, std::nullopt, 0);
  arena.max_words = arena.words.size() + 100;
  EXPECT_TRUE(arena.HasRoom(100));
  EXPECT_FALSE(arena.HasRoom(101));
  EXPECT_TRUE(arena.Append(list, std::vector<Ref>(10, kNoneRef)));
  EXPECT_FALSE(arena.Append(list, std::vector<Ref>(100, kNoneRef)));
  EXPECT_FALSE(arena.AddOperations(object, OperationKind::kAppend, std::vector<Ref>(100, kNoneRef)));
  EXPECT_THROW((void)document.Tuple(std::vector<Value>(100, document.None())), std::length_error);
}

TEST(PickleMemo, HandlesScatteredIndices) {
  Memo memo;
  EXPECT_TRUE(memo.Put(5, 50));         // a gap that is worth filling
  EXPECT_TRUE(memo.Put(1'000'000, 1));  // one that is not
  EXPECT_TRUE(memo.Put(5, 51));
  EXPECT_TRUE(memo.Put(1'000'000, 2));
  EXPECT_EQ(memo.count(), 2u);
  EXPECT_EQ(memo.Get(5), 51u);
  EXPECT_EQ(memo.Get(1'000'000), 2u);
  EXPECT_EQ(memo.Get(4), std::nullopt);
  EXPECT_EQ(memo.Get(6), std::nullopt);
  EXPECT_LT(memo.memory_bytes(), 1000u);
}

TEST(PickleMemo, KeepsAnEntryWhoseIndexIsReachedLater) {
  Memo memo;
  EXPECT_TRUE(memo.Put(100, 7));
  for (uint64_t i = 0; i < 200; ++i) {
    if (i != 100) {
      EXPECT_TRUE(memo.Put(i, static_cast<Ref>(i)));
    }
  }
  EXPECT_EQ(memo.Get(100), 7u);
  EXPECT_EQ(memo.Get(199), 199u);
  EXPECT_EQ(memo.count(), 200u);
}

TEST(PickleValue, AppendsCountsOrNothing) {
  Document document;
  std::vector<uint64_t> counts = {9};
  EXPECT_TRUE(document.Tuple({document.Int(0), document.Int(int64_t{1} << 40)}).AppendCounts(counts));
  EXPECT_EQ(counts, (std::vector<uint64_t>{9, 0, uint64_t{1} << 40}));
  EXPECT_FALSE(document.Tuple({document.Int(5), document.Int(-1)}).AppendCounts(counts));
  EXPECT_FALSE(document.Tuple({document.Int(5), document.String("6")}).AppendCounts(counts));
  EXPECT_FALSE(document.Int(5).AppendCounts(counts));
  EXPECT_EQ(counts.size(), 3U);
}

TEST(PickleValue, ReadsFieldsOfAnInstanceInOnePass) {
  Document document;
  const Value state = document.Dict();
  document.SetItem(state, document.String("a"), document.Int(1));
  document.SetItem(state, document.String("b"), document.None());
  document.SetItem(state, document.Int(7), document.Int(7));
  document.SetItem(state, document.String("a"), document.Int(2));
  const Value object = document.Object(Construct::kNewObj, document.Global("m", "C"), document.Tuple({}));
  std::array fields = {Field{"a"}, Field{"b"}, Field{"c"}};
  EXPECT_FALSE(object.ReadFields(fields));  // no state yet
  document.SetState(object, state);
  ASSERT_TRUE(object.ReadFields(fields));
  EXPECT_EQ(fields[0].value->AsInt(), 2);  // of equal keys the last counts
  EXPECT_FALSE(fields[1].value);           // None
  EXPECT_FALSE(fields[2].value);
  EXPECT_FALSE(state.ReadFields(fields));
}

TEST(PickleValue, FindsTheOnlyArgumentOfACall) {
  Document document;
  const Value one = document.Call(document.Global("torch", "Size"), {document.Tuple({document.Int(3)})});
  EXPECT_EQ((*one.OnlyArgumentOf("Size"))[0].AsInt(), 3);
  EXPECT_FALSE(one.OnlyArgumentOf("device"));
  EXPECT_FALSE(document.Call(document.Global("torch", "Size"), {}).OnlyArgumentOf("Size"));
  EXPECT_FALSE(document.Int(3).OnlyArgumentOf("Size"));
}

}  // namespace
}  // namespace dcpctl::pickle
