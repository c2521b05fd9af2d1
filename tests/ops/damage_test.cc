#include "ops/damage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "support/result.h"

namespace dcpctl::ops {
namespace {

using ::testing::ElementsAre;

// Objects "a", "b", "c".
Catalog ThreeEntries() {
  Catalog catalog;
  catalog.root = "ckpt";
  for (const char* key : {"a", "b", "c"}) catalog.AddObject(key);
  return catalog;
}

Finding Damage(const std::string& key) {
  return {.id = "dcp.record-damaged",
          .severity = Severity::kError,
          .file = "__0_0.distcp",
          .offset = 16,
          .key = key,
          .message = "broken",
          .advice = "throw it away"};
}

TEST(Damage, FirstDamagedEntryIsTheError) {
  Catalog catalog = ThreeEntries();
  catalog.findings = {Damage("c"), Damage("b")};
  std::vector<bool> selected(3, true);
  const Error error = test::ErrorOf(HandleDamage(catalog, false, selected));
  EXPECT_EQ(error.kind(), ErrorKind::kCorrupt);
  EXPECT_EQ(error.ToString(), "ckpt/__0_0.distcp:0x10: error: broken (\"b\")\n  throw it away");
}

TEST(Damage, IsLeftOutWhenAsked) {
  Catalog catalog = ThreeEntries();
  catalog.findings = {Damage("a"), Damage("c"), Damage("c")};
  std::vector<bool> selected(3, true);
  EXPECT_EQ(test::Value(HandleDamage(catalog, true, selected)), 2U);
  EXPECT_THAT(selected, ElementsAre(false, true, false));
}

TEST(Damage, OfOtherEntriesDoesNotMatter) {
  Catalog catalog = ThreeEntries();
  catalog.findings = {Damage("a"), Damage("no entry")};
  std::vector<bool> selected = {false, true, true};
  EXPECT_EQ(test::Value(HandleDamage(catalog, false, selected)), 0U);
  EXPECT_THAT(selected, ElementsAre(false, true, true));
}

TEST(Damage, WarningsAreNone) {
  Catalog catalog = ThreeEntries();
  catalog.findings = {Damage("a")};
  catalog.findings[0].severity = Severity::kWarning;
  std::vector<bool> selected(3, true);
  EXPECT_EQ(test::Value(HandleDamage(catalog, false, selected)), 0U);
}

TEST(Damage, WithoutAFileNamesTheCheckpoint) {
  EXPECT_EQ(
      ToError(ThreeEntries(), {.id = "x", .severity = Severity::kError, .key = "a", .message = "hole"}).ToString(),
      "ckpt: error: hole (\"a\")");
}

}  // namespace
}  // namespace dcpctl::ops
