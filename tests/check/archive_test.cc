#include "check/archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/crc32.h"
#include "support/result.h"
#include "zip/raw_zip.h"

namespace dcpctl::check {
namespace {

using test::Value;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using zip::RawRecord;

RawRecord Record(const std::string& name, const std::string& data, const std::string& after = "") {
  return {.name = name,
          .data = data + after,
          .crc = Crc32(test::BytesOf(data)),
          .compressed = static_cast<uint32_t>(data.size()),
          .bytes = static_cast<uint32_t>(data.size())};
}

struct Seen {
  ArchiveCheck check;
  Findings small;                  // of CheckSmallRecords
  std::vector<uint64_t> storages;  // bytes of the records that it left alone
};

Seen Look(const std::string& bytes) {
  const MemorySource source = zip::AsSource(bytes);
  const zip::Directory directory = Value(zip::ReadDirectory(source, 0, source.size(), {}));
  Seen seen{.check = CheckArchive(source, directory), .small = {}, .storages = {}};
  for (const ArchiveRecord& record : CheckSmallRecords(source, directory, seen.check.records, seen.small))
    seen.storages.push_back(directory.entries[record.entry].bytes);
  return seen;
}

std::vector<std::string> Ids(const Findings& findings) {
  std::vector<std::string> ids;
  for (const Finding& finding : findings) ids.push_back(finding.id);
  return ids;
}

TEST(ArchiveCheck, LooksAtAllRecords) {
  const Seen seen =
      Look(zip::MakeZip({Record("m/data.pkl", "abc"), Record("m/data/0", "12345"), Record("m/version", "3")}));
  EXPECT_THAT(seen.check.findings, IsEmpty());
  EXPECT_EQ(seen.check.records.size(), 3U);
  EXPECT_EQ(seen.check.padding_bytes, 0U);
  EXPECT_THAT(seen.small, IsEmpty());
  EXPECT_THAT(seen.storages, ElementsAre(5));
}

TEST(ArchiveCheck, ZerosBetweenRecordsArePadding) {
  const Seen seen = Look(zip::MakeZip({Record("m/a", "abc", std::string(7, '\0')), Record("m/b", "", "xyz")}));
  EXPECT_EQ(seen.check.padding_bytes, 7U);
  EXPECT_EQ(seen.check.stray_bytes, 3U);
  EXPECT_THAT(Ids(seen.check.findings), ElementsAre("zip.stray-bytes"));
}

TEST(ArchiveCheck, LooksInFrontAndBehindTheDirectory) {
  const Seen seen = Look(zip::MakeZip({Record("m/a", "abc")}, [](zip::RawEnd& end) { end.before_end = "junk"; }));
  EXPECT_THAT(Ids(seen.check.findings), ElementsAre("zip.stray-bytes"));
  EXPECT_EQ(seen.check.stray_bytes, 4U);
}

TEST(ArchiveCheck, OneBadHeaderHidesNoOther) {
  RawRecord bad = Record("m/a", "abc");
  bad.local_method = 8;
  RawRecord renamed = Record("m/b", "abc");
  renamed.local_name = "m/c";
  const Seen seen = Look(zip::MakeZip({bad, renamed, Record("m/d", "abc")}));
  EXPECT_THAT(Ids(seen.check.findings), ElementsAre("zip.header-differs", "zip.header-differs"));
  EXPECT_EQ(seen.check.records.size(), 1U);
}

TEST(SmallRecords, AreComparedWithTheirChecksums) {
  RawRecord bad = Record("m/version", "3");
  bad.crc = 5;
  RawRecord unknown = Record("m/byteorder", "little");
  unknown.crc = 0;
  EXPECT_THAT(Ids(Look(zip::MakeZip({bad, unknown})).small), ElementsAre("payload.crc"));
}

}  // namespace
}  // namespace dcpctl::check
