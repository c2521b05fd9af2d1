#include "ops/rename.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "support/result.h"

namespace dcpctl::ops {
namespace {

using test::ErrorOf;
using test::Value;
using ::testing::ElementsAre;

constexpr uint64_t kFirst = 0;

KeyPath Renamed(KeyPath path, const std::string& from, const std::string& to) {
  Value(RenameRule::Make({from, to})).Apply(path);
  return path;
}

TEST(RenameRule, TakesWrappersOutWhereverTheyAre) {  // C78
  EXPECT_EQ(Renamed({"_orig_mod", "w"}, "_orig_mod", ""), (KeyPath{"w"}));
  EXPECT_EQ(Renamed({"model", "_orig_mod", "layers", "_orig_mod", "w"}, "_orig_mod", ""),
            (KeyPath{"model", "layers", "w"}));
  EXPECT_EQ(Renamed({"model", "_orig_mod.layers.0._orig_mod.w"}, "_orig_mod", ""), (KeyPath{"model", "layers.0.w"}));
  EXPECT_EQ(Renamed({"model.w._orig_mod"}, "_orig_mod", ""), (KeyPath{"model.w"}));
  EXPECT_EQ(Renamed({"module.w"}, "module.", ""), (KeyPath{"w"}));
}

TEST(RenameRule, MeansWholeComponents) {  // C79
  EXPECT_EQ(Renamed({"my_module", "module2.w"}, "module", "x"), (KeyPath{"my_module", "module2.w"}));
  EXPECT_EQ(Renamed({"a.b", "c"}, "a.b.c.d", "x"), (KeyPath{"a.b", "c"}));
  EXPECT_EQ(Renamed({"a*b"}, "a*b", "x"), (KeyPath{"x"}));
}

TEST(RenameRule, ReplacesFromTheLeftAndNotItsOwnResult) {
  EXPECT_EQ(Renamed({"a", "a", "a"}, "a.a", "b"), (KeyPath{"b", "a"}));
  EXPECT_EQ(Renamed({"a"}, "a", "a.a"), (KeyPath{"a", "a"}));
  EXPECT_EQ(Renamed({"a", "a"}, "a", "b.a"), (KeyPath{"b", "a", "b", "a"}));
}

TEST(RenameRule, MayBeHeldAtTheFront) {
  EXPECT_EQ(Renamed({"model", "state", "model"}, "^model", "net"), (KeyPath{"net", "state", "model"}));
  EXPECT_EQ(Renamed({"optim", "model"}, "^model", "net"), (KeyPath{"optim", "model"}));
}

TEST(RenameRule, KeepsElementsApartAndDotsTogether) {
  EXPECT_EQ(Renamed({"module", "w"}, "module", "app.model"), (KeyPath{"app", "model", "w"}));  // C118
  EXPECT_EQ(Renamed({"m", "module.w"}, "module", "app.model"), (KeyPath{"m", "app.model.w"}));
  EXPECT_EQ(Renamed({"model", "layers.0.w"}, "model.layers", "blocks"), (KeyPath{"blocks.0.w"}));
  EXPECT_EQ(Renamed({"model", "layers.0.w"}, "model.layers", "net.blocks"), (KeyPath{"net", "blocks.0.w"}));
  EXPECT_EQ(Renamed({"a.b.c"}, "a.b", "x.y"), (KeyPath{"x.y.c"}));
  EXPECT_EQ(Renamed({"a._orig_mod", "w"}, "_orig_mod", ""), (KeyPath{"a", "w"}));
  EXPECT_EQ(Renamed({"a", "b.c"}, "a.b", "a"), (KeyPath{"a", "c"}));
  EXPECT_EQ(Renamed({"a", "b"}, "a.b", "a.x.b"), (KeyPath{"a", "x", "b"}));
  EXPECT_EQ(Renamed({"a.b"}, "a.b", "a.x.b"), (KeyPath{"a.x.b"}));
  EXPECT_EQ(Renamed({"x.a"}, "a", "a.b"), (KeyPath{"x.a.b"}));
}

TEST(RenameRule, KeepsListPositions) {
  EXPECT_EQ(Renamed({"optim", "groups", kFirst, "lr"}, "optim", "opt"), (KeyPath{"opt", "groups", kFirst, "lr"}));
  EXPECT_EQ(Renamed({"groups", kFirst, "lr"}, "groups.0", "groups.1"), (KeyPath{"groups", uint64_t{1}, "lr"}));
  EXPECT_EQ(Renamed({"groups", kFirst, "lr"}, "groups.0.lr", "groups.0.opts.lr"),
            (KeyPath{"groups", kFirst, "opts", "lr"}));
  EXPECT_EQ(Renamed({"groups", kFirst, "lr"}, "0", "first"), (KeyPath{"groups", "first", "lr"}));
  EXPECT_EQ(Renamed({"layers.0.w"}, "0", "1"), (KeyPath{"layers.1.w"}));
  EXPECT_EQ(Renamed({"k", kFirst}, "k", ""), (KeyPath{"0"}));  // the outermost container is a dict
}

TEST(RenameRule, SaysWhetherItFoundAnything) {
  const RenameRule rule = Value(RenameRule::Make({"w", ""}));
  KeyPath path = {"w"};
  EXPECT_TRUE(rule.Apply(path));
  EXPECT_EQ(path, KeyPath{});
  KeyPath other = {"weight"};
  EXPECT_FALSE(rule.Apply(other));
  EXPECT_EQ(other, (KeyPath{"weight"}));
}

TEST(RenameRule, RefusesToReplaceNothing) {
  EXPECT_EQ(ErrorOf(RenameRule::Make({"", "x"})).kind(), ErrorKind::kUsage);
  EXPECT_EQ(ErrorOf(RenameRule::Make({"^", "x"})).kind(), ErrorKind::kUsage);
}

TEST(RenameRule, OffersWhatIsAsLongAsItself) {
  std::set<std::string> names;
  Value(RenameRule::Make({"x.y", ""})).AddCandidates({"a.b", kFirst}, names);
  EXPECT_THAT(names, ElementsAre("a.b", "b.0"));
  names.clear();
  Value(RenameRule::Make({"^x", ""})).AddCandidates({"a.b"}, names);
  EXPECT_THAT(names, ElementsAre("a"));
}

}  // namespace
}  // namespace dcpctl::ops
