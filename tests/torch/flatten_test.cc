#include "torch/flatten.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/result.h"
#include "tests/torch/sample_archive.h"

namespace dcpctl::torch {
namespace {

using pickle::Document;
using pickle::Value;

class TorchFlatten : public testing::Test {
 protected:
  Value Dict(const std::vector<std::pair<Value, Value>>& items) {
    const Value dict = document_.Dict();
    for (const auto& [key, value] : items) document_.SetItem(dict, key, value);
    return dict;
  }
  Value List(const std::vector<Value>& items) {
    const Value list = document_.List();
    for (const Value item : items) document_.Append(list, item);
    return list;
  }
  Value Str(const std::string& text) { return document_.String(text); }
  Value Int(int64_t value) { return document_.Int(value); }
  Value Tensor() { return MakeSample(document_, {.items = 1}); }

  static std::vector<std::string> Keys(Value root) {
    std::vector<std::string> keys;
    for (const Leaf& leaf : test::Value(Flatten(root, "f", Limits{}))) {
      EXPECT_EQ(leaf.key, JoinPath(leaf.path));
      keys.push_back(leaf.key);
    }
    return keys;
  }

  Document document_;
};

using Strings = std::vector<std::string>;

TEST_F(TorchFlatten, DescendsMappings) {
  const Value root = Dict({{Str("a.b"), Dict({{Str("c"), Int(1)}, {Int(7), Int(2)}})}, {Str("empty"), Dict({})}});
  const std::vector<Leaf> leaves = test::Value(Flatten(root, "f", Limits{}));
  ASSERT_EQ(leaves.size(), 2U);
  EXPECT_EQ(leaves[0].key, "a.b.c");
  EXPECT_EQ(leaves[0].path, (KeyPath{"a.b", "c"}));
  EXPECT_EQ(leaves[1].path, (KeyPath{"a.b", "7"}));  // a number as a key becomes text
  EXPECT_EQ(leaves[1].value.AsInt(), 2);
}

TEST_F(TorchFlatten, DescendsListsWithTensorsOrMappings) {
  EXPECT_EQ(Keys(Dict({{Str("l"), List({Tensor(), Int(1)})}})), (Strings{"l.0", "l.1"}));
  EXPECT_EQ(Keys(Dict({{Str("l"), List({Int(1), Dict({})})}})), (Strings{"l.0"}));
  EXPECT_EQ(Keys(Dict({{Str("l"), List({Int(1), List({Int(2)}), List({List({Tensor()})})})}})),
            (Strings{"l.0", "l.1", "l.2.0.0"}));
  const std::vector<Leaf> leaves = test::Value(Flatten(Dict({{Str("l"), List({Tensor()})}}), "f", Limits{}));
  EXPECT_EQ(leaves[0].path, (KeyPath{"l", uint64_t{0}}));
}

TEST_F(TorchFlatten, KeepsOtherListsAndTuplesWhole) {
  EXPECT_EQ(Keys(Dict({{Str("l"), List({})},
                       {Str("m"), List({Int(1), List({Int(2)})})},
                       {Str("t"), document_.Tuple({Tensor()})},
                       {Str("u"), List({document_.Tuple({Tensor()})})}})),
            (Strings{"l", "m", "t", "u"}));
}

TEST_F(TorchFlatten, KnowsOtherMappings) {
  const Value ordered = document_.Call(document_.Global("collections", "OrderedDict"), {});
  document_.SetItem(ordered, Str("x"), Int(1));
  document_.SetState(ordered, Dict({{Str("_metadata"), Int(2)}}));
  const Value counter = document_.Call(document_.Global("collections", "Counter"), {Dict({{Str("n"), Int(3)}})});
  const Value python2 =
      document_.Call(document_.Global("collections", "OrderedDict"), {List({List({Str("p"), Int(1)})})});
  const Value defaults =
      document_.Call(document_.Global("collections", "defaultdict"), {document_.Global("builtins", "list")});
  const Value own = document_.Object(pickle::Construct::kNewObj, document_.Global("my", "Dict"), document_.Tuple({}));
  document_.SetItem(own, Str("y"), Int(1));
  const Value object =
      document_.Object(pickle::Construct::kNewObj, document_.Global("my", "Class"), document_.Tuple({}));
  EXPECT_EQ(Keys(Dict({{Str("o"), ordered},
                       {Str("c"), counter},
                       {Str("2"), python2},
                       {Str("d"), defaults},
                       {Str("m"), own},
                       {Str("k"), object}})),
            (Strings{"o.x", "c.n", "2.p", "m.y", "k"}));
  EXPECT_EQ(Keys(ordered), (Strings{"x"}));
  EXPECT_FALSE(IsMapping(object));
}

TEST_F(TorchFlatten, SpellsKeysAsPythonsStr) {
  EXPECT_EQ(Keys(Dict({{document_.Bool(true), Int(0)},
                       {document_.None(), Int(0)},
                       {document_.Float(0.5), Int(0)},
                       {document_.Tuple({Int(1), Str("a")}), Int(0)},
                       {Str(""), Int(0)},
                       {Int(-3), Int(0)}})),
            (Strings{"True", "None", "0.5", "(1, 'a')", "", "-3"}));
}

TEST_F(TorchFlatten, LaterValueOfAKeyWins) {
  const std::vector<Leaf> leaves =
      test::Value(Flatten(Dict({{Str("a"), Int(1)}, {Str("b"), Int(2)}, {Str("a"), Int(3)}}), "f", Limits{}));
  ASSERT_EQ(leaves.size(), 2U);
  EXPECT_EQ(leaves[0].key, "a");
  EXPECT_EQ(leaves[0].value.AsInt(), 3);
}

TEST_F(TorchFlatten, KeepsKeysThatOnlyLookAlike) {
  EXPECT_EQ(Keys(Dict({{Str("1"), Int(1)}, {Int(1), Int(2)}})), (Strings{"1", "1"}));
  EXPECT_EQ(Keys(Dict({{Str("a.b"), Int(1)}, {Str("a"), Dict({{Str("b"), Int(2)}})}})), (Strings{"a.b", "a.b"}));
}

TEST_F(TorchFlatten, KeepsUnequalObjectsWithTheSameText) {
  const auto device = [&](const char* module) {
    return document_.Call(document_.Global(module, "device"), {Str("cpu")});
  };
  EXPECT_EQ(Keys(Dict({{device("torch"), Int(1)}, {device("m"), Int(2)}})), (Strings{"cpu", "m.device('cpu')"}));
  const auto number = [&](const char* code, const char* bytes) {
    const Value dtype = document_.Call(document_.Global("numpy", "dtype"), {Str(code)});
    return document_.Call(document_.Global("numpy._core.multiarray", "scalar"), {dtype, document_.Bytes(bytes)});
  };
  EXPECT_EQ(Keys(Dict({{number("i1", "\1"), Int(1)}, {number("u1", "\1"), Int(2)}})), (Strings{"1", "1"}));
}

TEST_F(TorchFlatten, RootThatIsNoMappingIsOneLeaf) {
  EXPECT_EQ(Keys(Tensor()), (Strings{""}));
  EXPECT_EQ(Keys(List({Tensor()})), (Strings{""}));
  EXPECT_EQ(Keys(Dict({})), Strings{});
}

TEST_F(TorchFlatten, RefusesStateThatContainsItself) {
  const Value dict = document_.Dict();
  document_.SetItem(dict, Str("a"), dict);
  const Error error = test::ErrorOf(Flatten(dict, "f", Limits{}));
  EXPECT_EQ(error.kind(), ErrorKind::kLimit);
  EXPECT_NE(error.message().find("contains itself"), std::string::npos) << error.ToString();
  const Value list = List({Tensor()});
  document_.Append(list, list);
  EXPECT_EQ(test::ErrorOf(Flatten(Dict({{Str("l"), list}}), "f", Limits{})).kind(), ErrorKind::kLimit);
  const Value closed = document_.List();
  document_.Append(closed, closed);
  EXPECT_EQ(Keys(Dict({{Str("l"), closed}})), (Strings{"l"}));  // no tensor: an object, whatever it is
}

// 2^40 entries in a few hundred bytes: what it takes is bounded long before Limits::entries.
TEST_F(TorchFlatten, BoundsWhatSharedContainersTake) {
  Value value = Dict({{Str("w"), Int(1)}});
  for (int i = 0; i < 40; ++i) value = Dict({{Str("a"), value}, {Str("b"), value}});
  const Error error = test::ErrorOf(Flatten(value, "f", Limits{}));
  EXPECT_EQ(error.kind(), ErrorKind::kLimit);
  EXPECT_THAT(error.message(), testing::HasSubstr("share what they hold"));
}

// The text of each key would have 64 MiB or more.
TEST_F(TorchFlatten, BoundsWhatSharedKeysTake) {
  Value large = Str("x");
  for (int i = 0; i < 40; ++i) large = document_.Tuple({large, large});
  std::vector<std::pair<Value, Value>> items;
  for (int i = 0; i < 10'000; ++i) items.emplace_back(document_.Tuple({large, Int(i)}), Int(i));
  const Error error = test::ErrorOf(Flatten(Dict({{Str("a"), Dict(items)}}), "f", Limits{}));
  EXPECT_EQ(error.kind(), ErrorKind::kLimit);
  EXPECT_THAT(error.message(), testing::HasSubstr("share what they hold"));
}

// Each time that the dict is an argument its items are set again: 10^9 times in all.
TEST_F(TorchFlatten, BoundsWhatSharedArgumentsTake) {
  std::vector<std::pair<Value, Value>> items;
  for (int i = 0; i < 10'000; ++i) items.emplace_back(Int(i), Int(i));
  const Value counter = document_.Object(pickle::Construct::kReduce, document_.Global("collections", "Counter"),
                                         document_.Tuple(std::vector<Value>(100'000, Dict(items))));
  EXPECT_EQ(test::ErrorOf(Flatten(Dict({{Str("a"), counter}}), "f", Limits{})).kind(), ErrorKind::kLimit);
  EXPECT_TRUE(IsTakenApart(counter, Limits{}));
}

TEST_F(TorchFlatten, BoundsWhatLongNamesTake) {
  std::vector<std::pair<Value, Value>> items;
  for (int i = 0; i < 10'000; ++i) items.emplace_back(Int(i), Int(i));
  const Value root = Dict({{Str(std::string(60'000, 'n')), Dict(items)}});
  EXPECT_EQ(test::ErrorOf(Flatten(root, "f", Limits{})).kind(), ErrorKind::kLimit);
}

TEST_F(TorchFlatten, CountsSharedContainersEachTime) {
  // 2^40 empty mappings in 40 nodes.
  Value value = Dict({});
  for (int i = 0; i < 40; ++i) value = Dict({{Str("a"), value}, {Str("b"), value}});
  EXPECT_EQ(test::ErrorOf(Flatten(value, "f", {.entries = 1000})).kind(), ErrorKind::kLimit);
  value = List({Int(1)});
  for (int i = 0; i < 40; ++i) value = List({value, value});
  EXPECT_EQ(Keys(Dict({{Str("l"), value}})), (Strings{"l"}));
}

TEST_F(TorchFlatten, EarlierVersionsKeepContainersWithoutTensorsWhole) {
  const Value root = Dict({{Str("a"), Dict({{Str("t"), Tensor()}, {Str("n"), Dict({{Str("lr"), Int(1)}})}})},
                           {Str("l"), List({Int(1), Dict({})})},
                           {Str("m"), List({Int(1), List({Tensor()})})},
                           {Str("e"), Dict({})},
                           {Str("u"), document_.Tuple({Tensor()})}});
  const auto keys = [&](Flattening rules) {
    Strings found;
    for (const Leaf& leaf : test::Value(Flatten(root, "f", Limits{}, rules))) found.push_back(leaf.key);
    return found;
  };
  EXPECT_EQ(keys(Flattening::kNone), (Strings{"a", "l", "m", "e", "u"}));
  EXPECT_EQ(keys(Flattening::kWithTensors), (Strings{"a.t", "a.n", "l", "m.0", "m.1.0", "e", "u"}));
  EXPECT_EQ(keys(Flattening::kAlways), (Strings{"a.t", "a.n.lr", "l.0", "m.0", "m.1.0", "u"}));
}

TEST_F(TorchFlatten, KeepsToLimits) {
  const Value root = Dict({{Str("long"), Dict({{Str("key"), Int(1)}})}});
  EXPECT_TRUE(Flatten(root, "f", {.pickle_depth = 2, .entries = 2, .name_bytes = 8}));
  EXPECT_FALSE(Flatten(root, "f", {.pickle_depth = 1}));
  EXPECT_FALSE(Flatten(root, "f", {.entries = 1}));
  EXPECT_FALSE(Flatten(root, "f", {.name_bytes = 7}));
}

}  // namespace
}  // namespace dcpctl::torch
