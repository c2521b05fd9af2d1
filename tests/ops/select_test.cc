#include "ops/select.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ops/glob.h"

namespace dcpctl::ops {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Catalog TensorsNamed(const std::vector<KeyPath>& paths) {
  Catalog catalog;
  catalog.root = "ckpt";
  for (const KeyPath& path : paths) {
    const std::string key = JoinPath(path);
    catalog.AddTensor(key, DType::kFloat32, {}).path = catalog.AddPath(key, path);
  }
  return catalog;
}

Catalog KeysNamed(const std::vector<std::string>& keys) {
  std::vector<KeyPath> paths;
  for (const std::string& key : keys) paths.push_back({key});
  return TensorsNamed(paths);
}

std::vector<std::string> Selected(const Catalog& catalog, const Selection& selection) {
  const auto selected = SelectEntries(catalog, selection);
  if (!selected) return {"error: " + selected.error().Text()};
  std::vector<std::string> keys;
  for (size_t i = 0; i < selected->size(); ++i) {
    if ((*selected)[i]) keys.emplace_back(catalog.KeyOf(catalog.entries[i]));
  }
  return keys;
}

TEST(Glob, MatchesWholeComponents) {
  EXPECT_TRUE(MatchesGlob("", ""));
  EXPECT_TRUE(MatchesGlob("*", ""));
  EXPECT_TRUE(MatchesGlob("w*t", "weight"));
  EXPECT_TRUE(MatchesGlob("*a*b*", "xxaxxbxx"));
  EXPECT_TRUE(MatchesGlob("net?", "net1"));
  EXPECT_FALSE(MatchesGlob("net?", "net"));
  EXPECT_FALSE(MatchesGlob("net", "net1"));
  EXPECT_TRUE(MatchesGlob("[0-3]", "2"));
  EXPECT_FALSE(MatchesGlob("[!0-3]", "2"));
  EXPECT_TRUE(MatchesGlob("[]x]", "]"));
  EXPECT_TRUE(MatchesGlob("a[b", "a[b"));
  EXPECT_TRUE(MatchesGlob("\\*", "*"));
  EXPECT_FALSE(MatchesGlob("\\*", "x"));
}

TEST(Glob, TakesUtf8ForCharacters) {
  EXPECT_TRUE(MatchesGlob("?", "é"));
  EXPECT_TRUE(MatchesGlob("[à-ü]", "é"));
  EXPECT_TRUE(MatchesGlob("a?b", std::string("a\0b", 3)));
  EXPECT_TRUE(MatchesGlob("?", "\xff"));
}

TEST(Select, MeansAKeyAndAllBelowIt) {  // C77
  const Catalog catalog = KeysNamed({"model.a", "model_ema.a", "model", "optim.x"});
  EXPECT_THAT(Selected(catalog, {.select = {"model"}}), ElementsAre("model.a", "model"));
  EXPECT_THAT(Selected(catalog, {.select = {"model*"}}), ElementsAre("model.a", "model_ema.a", "model"));
  EXPECT_THAT(Selected(catalog, {.select = {"model.*"}}), ElementsAre("model.a"));
  EXPECT_THAT(Selected(catalog, {.exclude = {"model"}}), ElementsAre("model_ema.a", "optim.x"));
  EXPECT_THAT(Selected(catalog, {.select = {"**.a"}, .exclude = {"model_ema"}}), ElementsAre("model.a"));
}

TEST(Select, TakesAKeyAsItIs) {
  const Catalog catalog = KeysNamed({"odd[0]*", "odd0", ""});
  EXPECT_THAT(Selected(catalog, {.select = {"odd[0]*"}}), ElementsAre("odd[0]*", "odd0"));
  EXPECT_THAT(Selected(catalog, {.select = {""}}), ElementsAre(""));
}

TEST(Select, NamesNearKeysForAPatternThatMatchesNothing) {
  const Catalog catalog = KeysNamed({"model.layers.0.weight", "optim.state"});
  const auto selected = SelectEntries(catalog, {.select = {"modle"}});
  ASSERT_FALSE(selected);
  EXPECT_EQ(selected.error().kind(), ErrorKind::kNotFound);
  EXPECT_EQ(selected.error().ToString(), "ckpt: error: --select \"modle\" matches no key\n  did you mean \"model\"?");
  const auto excluded = SelectEntries(catalog, {.exclude = {"model.layer"}});
  ASSERT_FALSE(excluded);
  EXPECT_THAT(excluded.error().ToString(), HasSubstr("\"model.layers\""));
}

TEST(Select, RefusesToLeaveNothing) {
  const auto selected = SelectEntries(KeysNamed({"a"}), {.select = {"a"}, .exclude = {"a"}});
  ASSERT_FALSE(selected);
  EXPECT_EQ(selected.error().kind(), ErrorKind::kNotFound);
}

KeyPath Stripped(const KeyPath& path, const std::string& prefix) { return NewPath(path, {.strip_prefix = prefix}); }

TEST(Prefix, IsTakenOffOnceAtTheFront) {  // C79
  EXPECT_EQ(Stripped({"model", "model", "a"}, "model"), (KeyPath{"model", "a"}));
  EXPECT_EQ(Stripped({"model", "model", "a"}, "model."), (KeyPath{"model", "a"}));
  EXPECT_EQ(Stripped({"model", "lm_head", "w"}, "model"), (KeyPath{"lm_head", "w"}));
  EXPECT_EQ(Stripped({"model_ema", "w"}, "model"), (KeyPath{"model_ema", "w"}));
  EXPECT_EQ(Stripped({"optim", "model", "w"}, "model"), (KeyPath{"optim", "model", "w"}));
}

TEST(Prefix, MayEndInsideAnElementThatHoldsDots) {
  EXPECT_EQ(Stripped({"module.net1.weight", uint64_t{2}}, "module"), (KeyPath{"net1.weight", uint64_t{2}}));
  EXPECT_EQ(Stripped({"app", "module.net1.weight"}, "app.module"), (KeyPath{"net1.weight"}));
  EXPECT_EQ(Stripped({"a.b", "c"}, "a.b"), (KeyPath{"c"}));
}

TEST(Prefix, NeverTakesAllOrMakesAListTheRoot) {
  EXPECT_EQ(Stripped({"model"}, "model"), (KeyPath{"model"}));
  EXPECT_EQ(Stripped({"k", uint64_t{0}}, "k"), (KeyPath{"0"}));
}

TEST(Prefix, IsPutInFrontAsContainers) {
  EXPECT_EQ(NewPath({"w.x"}, {.add_prefix = "a.b"}), (KeyPath{"a", "b", "w.x"}));
  EXPECT_EQ(NewPath({"old", "w"}, {.strip_prefix = "old", .add_prefix = "new"}), (KeyPath{"new", "w"}));
}

std::string RenameError(const Catalog& catalog, const Selection& selection) {
  const auto renamed = RenamePaths(catalog, std::vector<bool>(catalog.entries.size(), true), selection);
  return renamed ? "" : renamed.error().Text();
}

TEST(Rename, RefusesTwoKeysThatBecomeOne) {  // C79
  const Catalog catalog = TensorsNamed({{"model", "w"}, {"w"}});
  EXPECT_EQ(RenameError(catalog, {}), "");
  EXPECT_EQ(RenameError(catalog, {.strip_prefix = "model"}), "\"model.w\" and \"w\" would both become \"w\"");
}

// What needs no look for names that are one, and what does.
TEST(Rename, KnowsEntriesThatAreNamedByTheirKeys) {
  Catalog catalog = KeysNamed({"m.w", "w"});
  EXPECT_TRUE(AreNamedByKeys(catalog));
  EXPECT_EQ(RenameError(catalog, {}), "");
  EXPECT_EQ(RenameError(catalog, {.strip_prefix = "m"}), "\"m.w\" and \"w\" would both become \"w\"");
  catalog.format = Format::kTorch;
  EXPECT_FALSE(AreNamedByKeys(catalog));
  const Catalog nested = TensorsNamed({{"a", "b"}, {"a.b"}});
  EXPECT_FALSE(AreNamedByKeys(nested));
  EXPECT_NE(RenameError(nested, {}), "");
}

TEST(Rename, RefusesPathsThatSpellOneFlatKey) {
  EXPECT_EQ(RenameError(TensorsNamed({{"m", "a.b"}, {"a", "b"}}), {.strip_prefix = "m"}),
            "\"a.b\" and \"m.a.b\" would both become \"a.b\"");
}

TEST(Rename, RefusesAValueThatWouldBeAContainer) {
  EXPECT_THAT(RenameError(TensorsNamed({{"m", "a"}, {"a", "b"}}), {.strip_prefix = "m"}),
              HasSubstr("one as a value and one as a container"));
  EXPECT_THAT(RenameError(TensorsNamed({{"m", "a", uint64_t{0}}, {"a", "b"}}), {.strip_prefix = "m"}),
              HasSubstr("one as a dict and one as a list"));
}

TEST(Rename, ComesAfterStrippingAndBeforeAdding) {
  const Selection selection{.strip_prefix = "module", .rename = {{"a", "b"}, {"b", "c"}}, .add_prefix = "top"};
  EXPECT_EQ(NewPath({"module", "a", "w"}, selection), (KeyPath{"top", "c", "w"}));
  const Catalog catalog = TensorsNamed({{"module", "a", "w"}, {"module", "x"}});
  const auto paths = RenamePaths(catalog, {true, true}, selection);
  ASSERT_TRUE(paths);
  EXPECT_THAT(*paths, ElementsAre(KeyPath{"top", "c", "w"}, KeyPath{"top", "x"}));
}

TEST(Rename, RefusesRulesThatMapTwoKeysToOne) {  // C79
  EXPECT_EQ(RenameError(TensorsNamed({{"a", "w"}, {"b", "w"}}), {.rename = {{"b", "a"}}}),
            "\"a.w\" and \"b.w\" would both become \"a.w\"");
}

TEST(Rename, RefusesToLeaveNoName) {
  EXPECT_EQ(RenameError(TensorsNamed({{"a", "w"}, {"a"}}), {.rename = {{"a", ""}}}),
            "--rename \"a=\" would leave no name for \"a\"");
}

TEST(Rename, NamesNearComponentsForOneThatIsNowhere) {
  const Catalog catalog = TensorsNamed({{"model", "_orig_mod.layers.0.w"}, {"other"}});
  const auto rename = [&](const std::string& from, const std::vector<bool>& selected) {
    const auto renamed = RenamePaths(catalog, selected, {.rename = {{from, ""}}});
    return renamed ? "" : renamed.error().ToString();
  };
  EXPECT_EQ(rename("_orig_mode", {true, true}),
            "ckpt: error: --rename \"_orig_mode\" matches no key\n  did you mean \"_orig_mod\"?");
  EXPECT_THAT(rename("layers.1", {true, true}), HasSubstr("did you mean \"layers.0\""));
  EXPECT_THAT(rename("layers.*", {true, true}), HasSubstr("no patterns"));
  EXPECT_THAT(rename("_orig_mod", {false, true}), HasSubstr("matches no key"));
}

TEST(Rename, RefusesAPrefixThatIsNowhere) {
  EXPECT_THAT(RenameError(TensorsNamed({{"model", "w"}}), {.strip_prefix = "modle"}),
              HasSubstr("--strip-prefix \"modle\" matches no key"));
}

}  // namespace
}  // namespace dcpctl::ops
