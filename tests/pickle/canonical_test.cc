#include "pickle/canonical.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "pickle/graph.h"
#include "support/result.h"

namespace dcpctl::pickle {
namespace {

using test::ErrorOf;

Result<Sha256Digest> TryDigest(dcpctl::pickle::Value value, const Limits& limits = {}) {
  return CanonicalDigest(
      value, [](dcpctl::pickle::Value id) -> Result<Sha256Digest> { return Sha256Of(Print(id)); }, limits);
}
std::string DigestOf(dcpctl::pickle::Value value) { return ToHex(test::Value(TryDigest(value))); }
std::string DigestOf(const Document& document) { return DigestOf(document.root()); }

TEST(Canonical, SpellingsOfProtocolsAreOne) {
  // {'a': [1, 2.5, None, True], 'b': (b'\xff', 'x')}, written by hand in protocol 0 and in protocol 4.
  const std::string old_text =
      "(dp0\nVa\np1\n(lp2\nI1\naF2.5\naNaI01\nasVb\np3\n(c_codecs\nencode\np4\n("
      "V\xff\np5\nVlatin1\np6\ntp7\nRp8\nVx"
      "\np9\ntp10\ns.";
  const Document old_document = MustRead(old_text);
  Document document;
  dcpctl::pickle::Value list = document.List();
  for (const auto item : {document.Int(1), document.Float(2.5), document.None(), document.Bool(true)})
    document.Append(list, item);
  dcpctl::pickle::Value dict = document.Dict();
  // In the other order, too.
  document.SetItem(dict, document.String("b"), document.Tuple({document.Bytes("\xff"), document.String("x")}));
  document.SetItem(dict, document.String("a"), list);
  document.SetRoot(dict);
  for (const int protocol : {2, 4}) {
    const std::string pickle = MustWrite(dict, protocol);
    EXPECT_EQ(DigestOf(MustRead(pickle)), DigestOf(old_document)) << protocol;
  }
}

class CanonicalValues : public testing::Test {
 protected:
  dcpctl::pickle::Value Call(const std::string& module, const std::string& name,
                             std::initializer_list<dcpctl::pickle::Value> args) {
    return document_.Call(document_.Global(module, name), args);
  }
  dcpctl::pickle::Value List(std::initializer_list<dcpctl::pickle::Value> items) {
    const auto list = document_.List();
    for (const auto item : items) document_.Append(list, item);
    return list;
  }
  Document document_;
};

TEST_F(CanonicalValues, DifferentValuesDiffer) {
  std::vector<dcpctl::pickle::Value> values = {
      document_.None(),
      document_.Bool(true),
      document_.Int(1),
      document_.Float(1),
      document_.Float(-0.0),
      document_.Float(0.0),
      document_.String("1"),
      document_.Bytes("1"),
      document_.ByteArray("1"),
      document_.Tuple({document_.Int(1)}),
      List({document_.Int(1)}),
      List({document_.Int(1), document_.Int(2)}),
      List({document_.Int(2), document_.Int(1)}),
      List({List({document_.Int(1)}), document_.Int(2)}),
      document_.FrozenSet(std::vector{document_.Int(1)}),
      document_.Global("m", "n"),
      Call("m", "n", {}),
      document_.Object(Construct::kNewObj, document_.Global("m", "n"), document_.Tuple({})),
      document_.Dict(),
      document_.PersistentId(document_.Int(1))};
  for (size_t i = 0; i < values.size(); ++i) {
    for (size_t j = 0; j < values.size(); ++j) EXPECT_EQ(DigestOf(values[i]) == DigestOf(values[j]), i == j) << i << j;
  }
}

TEST_F(CanonicalValues, OldCallsAreBuiltInTypes) {
  const auto set = document_.Set();
  document_.Add(set, document_.Int(1));
  document_.Add(set, document_.Int(2));
  EXPECT_EQ(DigestOf(set), DigestOf(Call("__builtin__", "set", {List({document_.Int(2), document_.Int(1)})})));
  EXPECT_EQ(DigestOf(document_.ByteArray("ab")), DigestOf(Call("builtins", "bytearray", {document_.Bytes("ab")})));
  EXPECT_EQ(DigestOf(document_.Bytes("")), DigestOf(Call("__builtin__", "bytes", {})));
  EXPECT_EQ(DigestOf(document_.Global("m", "A.f")),
            DigestOf(Call("__builtin__", "getattr", {document_.Global("m", "A"), document_.String("f")})));
  EXPECT_EQ(DigestOf(document_.Global("m", "A.B.f")),
            DigestOf(Call("builtins", "getattr",
                          {Call("builtins", "getattr", {document_.Global("m", "A"), document_.String("B")}),
                           document_.String("f")})));
  EXPECT_EQ(DigestOf(document_.Global("numpy.core.multiarray", "x")),
            DigestOf(document_.Global("numpy._core.multiarray", "x")));
  EXPECT_EQ(DigestOf(document_.Global("__builtin__", "long")), DigestOf(document_.Global("builtins", "int")));
}

TEST_F(CanonicalValues, InstancesHoweverTheyAreMade) {
  const auto cls = document_.Global("m", "A");
  const auto state = document_.Dict();
  document_.SetItem(state, document_.String("x"), document_.Int(1));
  const auto made = document_.Object(Construct::kNewObj, cls, document_.Tuple({}));
  document_.SetState(made, state);
  const auto old_made =
      Call("copy_reg", "_reconstructor", {cls, document_.Global("__builtin__", "object"), document_.None()});
  document_.SetState(old_made, state);
  EXPECT_EQ(DigestOf(made), DigestOf(old_made));
  const auto other = document_.Object(Construct::kNewObj, cls, document_.Tuple({}));
  document_.SetState(other, document_.Dict());
  EXPECT_NE(DigestOf(made), DigestOf(other));
}

TEST_F(CanonicalValues, OrderCountsWherePythonLooksAtIt) {
  const auto make = [&](const char* name, bool reversed) {
    const auto object = Call("collections", name, {});
    for (const int i : {0, 1}) document_.SetItem(object, document_.Int(reversed ? 1 - i : i), document_.Int(7));
    return DigestOf(object);
  };
  EXPECT_NE(make("OrderedDict", false), make("OrderedDict", true));
  EXPECT_EQ(make("defaultdict", false), make("defaultdict", true));
}

TEST_F(CanonicalValues, OfEqualKeysTheLastCounts) {
  const auto once = document_.Dict();
  document_.SetItem(once, document_.Int(1), document_.Int(2));
  const auto twice = document_.Dict();
  document_.SetItem(twice, document_.Int(1), document_.Int(1));
  document_.SetItem(twice, document_.Int(1), document_.Int(2));
  EXPECT_EQ(DigestOf(once), DigestOf(twice));
}

TEST_F(CanonicalValues, SharingMakesNoDifference) {
  const auto inner = List({document_.Int(1)});
  EXPECT_EQ(DigestOf(List({inner, inner})), DigestOf(List({List({document_.Int(1)}), List({document_.Int(1)})})));
  // Shared again and again: 2^200 values if it were followed everywhere.
  auto deep = List({});
  for (int i = 0; i < 200; ++i) deep = List({deep, deep});
  EXPECT_TRUE(TryDigest(deep));
}

TEST_F(CanonicalValues, WhatContainsItself) {
  const auto make = [&](int64_t number) {
    const auto list = List({document_.Int(number)});
    document_.Append(list, list);
    return DigestOf(list);
  };
  EXPECT_EQ(make(1), make(1));
  EXPECT_NE(make(1), make(2));
  // A list of itself, and one that holds such a list.
  const auto self = document_.List();
  document_.Append(self, self);
  const auto around = List({self});
  EXPECT_NE(DigestOf(self), DigestOf(List({List({})})));
  EXPECT_EQ(DigestOf(around), DigestOf(around));
}

TEST_F(CanonicalValues, HasLimits) {
  auto deep = List({});
  for (int i = 0; i < 20; ++i) deep = List({deep});
  Limits limits;
  limits.pickle_depth = 10;
  EXPECT_EQ(ErrorOf(TryDigest(deep, limits)).kind(), ErrorKind::kLimit);
  limits.pickle_depth = 100;
  EXPECT_TRUE(TryDigest(deep, limits));
}

// Every list refers to all others, so that there are 40! ways through them: a pickle of 4 KiB.
TEST_F(CanonicalValues, CyclesInManyWaysAreNotFollowed) {
  std::vector<dcpctl::pickle::Value> lists;
  for (int i = 0; i < 40; ++i) lists.push_back(document_.List());
  for (const auto list : lists) {
    for (const auto item : lists) document_.Append(list, item);
  }
  EXPECT_EQ(ErrorOf(TryDigest(lists[0])).kind(), ErrorKind::kLimit);
}

// Part of the manifests that are out there: it must never change.
TEST_F(CanonicalValues, DigestsStay) {
  EXPECT_EQ(DigestOf(document_.None()), ToHex(Sha256Of("N")));
  EXPECT_EQ(DigestOf(document_.Int(1)), ToHex(Sha256Of(std::string("i\1\0\0\0\0\0\0\0", 9))));
  EXPECT_EQ(DigestOf(document_.String("ab")), ToHex(Sha256Of(std::string("s\2\0\0\0\0\0\0\0ab", 11))));
}

}  // namespace
}  // namespace dcpctl::pickle
