#include "check/records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace dcpctl::check {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Place {
  std::string key;
  uint32_t file;
  uint64_t offset;
  uint64_t length;
};

Findings Check(const std::vector<Place>& places) {
  Catalog catalog;
  catalog.files = {{.path = "a"}, {.path = "b"}};
  for (const Place& place : places) {
    Object& object = catalog.AddObject(place.key);
    object.offset = place.offset;
    object.length = place.length;
    object.file = place.file;
  }
  Findings findings;
  CheckRecordPlaces(catalog, findings);
  return findings;
}

std::vector<std::string> Hit(const std::vector<Place>& places) {
  std::vector<std::string> keys;
  for (const Finding& finding : Check(places)) {
    EXPECT_EQ(finding.id, "dcp.record-overlap");
    keys.push_back(finding.key);
  }
  return keys;
}

TEST(RecordPlaces, MayTouch) {
  EXPECT_THAT(Hit({{"x", 0, 10, 5}, {"y", 0, 0, 10}, {"z", 1, 0, 10}, {"lost", kNoFile, 0, 0}}), IsEmpty());
  EXPECT_THAT(Hit({{"x", 0, 0, 5}, {"empty", 0, 2, 0}}), IsEmpty());
}

TEST(RecordPlaces, MayNotOverlap) {
  EXPECT_THAT(Hit({{"x", 0, 0, 11}, {"y", 0, 10, 5}}), ElementsAre("y"));
  EXPECT_THAT(Hit({{"x", 0, 0, 5}, {"same", 0, 0, 5}}), ElementsAre("same"));
  const Findings findings = Check({{"x", 1, 16, 16}, {"y", 1, 24, 1}});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].file, "b");
  EXPECT_EQ(findings[0].offset, 24U);
  EXPECT_THAT(findings[0].message, HasSubstr("\"x\", which lies from 0x10 to 0x20"));
}

// A long record is behind more than the next one.
TEST(RecordPlaces, AllThatARecordRunsIntoAreNamed) {
  EXPECT_THAT(Hit({{"long", 0, 0, 100}, {"a", 0, 10, 5}, {"b", 0, 20, 5}, {"c", 0, 100, 5}}), ElementsAre("a", "b"));
  EXPECT_THAT(Hit({{"huge", 0, 5, UINT64_MAX}, {"a", 0, 10, 5}}), ElementsAre("a"));
}

}  // namespace
}  // namespace dcpctl::check
