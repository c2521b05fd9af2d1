#include "check/payload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/crc32.h"
#include "dcp/sample_checkpoint.h"
#include "dcp/survey.h"
#include "support/memory_file_system.h"
#include "support/result.h"
#include "torch/sample_archive.h"

namespace dcpctl::check {
namespace {

using test::MemoryFileSystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const char* const kRoot = "/ckpt";
const char* const kFile = "/ckpt/__0_0.distcp";

class Payload : public testing::Test {
 protected:
  void SetUp() override {
    sample_.AddTensor("w", {"w"}, {4}, 0, {{.offsets = {0}, .sizes = {2}}, {.offsets = {2}, .sizes = {2}}});
    sample_.AddTensor("packed", {"packed"}, {100}, 7, {{.offsets = {0}, .sizes = {100}, .zstd = true}});
    const auto make = [](pickle::Document& d) {
      return d.Tuple({torch::MakeSample(d, {.items = 3, .shape = {3}, .strides = {1}}), d.Int(1)});
    };
    sample_.AddObject("ema", {"ema"}, make, {dcp::Floats(3, 50)});
    sample_.PutOn(files_, kRoot);
    catalog_ = test::Value(dcp::SurveyDirectory(files_, kRoot, {}));
    ASSERT_THAT(catalog_.findings, IsEmpty());
    selected_.assign(catalog_.entries.size(), true);
  }

  // Flips a bit of the byte at `offset`; size and time stay as they were.
  void Damage(uint64_t offset) {
    std::string bytes = *files_.Contents(kFile);
    bytes.at(offset) = static_cast<char>(bytes[offset] ^ 1);
    files_.Overwrite(kFile, bytes);
    const io::FileInfo info = test::Value(files_.Stat(kFile));
    for (SourceFile& file : catalog_.files) {
      if (file.path == "__0_0.distcp") file.mtime_ns = info.mtime_ns;
    }
  }

  std::vector<std::string> Check() {
    findings_.clear();
    totals_ = test::Value(CheckPayloads(files_, catalog_, selected_, {}, findings_, loose_));
    std::vector<std::string> texts;
    for (const Finding& finding : findings_) {
      EXPECT_EQ(finding.severity, Severity::kError);
      EXPECT_EQ(finding.file, "__0_0.distcp");
      texts.push_back(finding.id + " " + finding.key);
    }
    return texts;
  }

  MemoryFileSystem files_;
  dcp::SampleCheckpoint sample_;
  Catalog catalog_;
  std::vector<bool> selected_;
  std::vector<LooseRecord> loose_;
  Findings findings_;
  ChecksumTotals totals_;
};

TEST_F(Payload, GoodBytesHaveNoFindings) { EXPECT_THAT(Check(), IsEmpty()); }

TEST_F(Payload, FindsEveryFlippedBitOfAChunk) {  // C10
  const Chunk& chunk = catalog_.chunks[1];
  const std::string good = *files_.Contents(kFile);
  for (uint64_t i = 0; i < chunk.stored.bytes; ++i) {
    files_.Overwrite(kFile, good);
    Damage(chunk.stored.offset + i);
    EXPECT_THAT(Check(), ElementsAre("payload.crc w"));
    EXPECT_EQ(findings_.at(0).offset, chunk.stored.offset);
    EXPECT_THAT(findings_.at(0).message, HasSubstr("as its writer recorded it"));
  }
}

TEST_F(Payload, LooksIntoObjects) {
  Damage(catalog_.objects[0].value->storages.at(0).stored.offset);
  EXPECT_THAT(Check(), ElementsAre("payload.crc ema"));
}

// Not every byte of the record decides over the storage: it has headers too.
TEST_F(Payload, LooksIntoCompressedRecords) {
  const Chunk& chunk = catalog_.chunks[2];
  const std::string good = *files_.Contents(kFile);
  size_t found = 0;
  for (uint64_t i = 0; i < chunk.length; ++i) {
    files_.Overwrite(kFile, good);
    Damage(chunk.offset + i);
    for (const std::string& text : Check()) {
      EXPECT_TRUE(text == "payload.crc packed" || text == "payload.unreadable packed") << text;
      ++found;
    }
    if (!findings_.empty()) {
      EXPECT_EQ(findings_[0].offset, chunk.offset);
    }
  }
  EXPECT_GE(found, 100U);
}

TEST_F(Payload, LooksOnlyAtWhatIsSelected) {
  Damage(catalog_.chunks[0].stored.offset);
  selected_[0] = false;
  EXPECT_THAT(Check(), IsEmpty());
}

TEST_F(Payload, WhatCannotBeReadIsAFinding) {
  files_.SetFaults({.read_error_at = catalog_.chunks[0].stored.offset});
  EXPECT_THAT(Check(), ElementsAre("payload.unreadable w"));
}

// A checksum that was never computed is neither right nor wrong.
TEST_F(Payload, UnknownChecksumsAreNoDamage) {
  catalog_.chunks[0].stored.crc_known = false;
  Damage(catalog_.chunks[0].stored.offset);
  EXPECT_THAT(Check(), IsEmpty());
}

TEST_F(Payload, ReportsAllDamageInOrder) {
  Damage(catalog_.objects[0].value->storages.at(0).stored.offset);
  Damage(catalog_.chunks[1].stored.offset);
  Damage(catalog_.chunks[0].stored.offset);
  EXPECT_THAT(Check(), ElementsAre("payload.crc w", "payload.crc w", "payload.crc ema"));
}

// Entries may share a storage, as views in torch.save files do.
TEST_F(Payload, ReadsSharedStoragesOnceAndNamesAllThatShare) {
  catalog_.chunks[1].stored = catalog_.chunks[0].stored;
  catalog_.chunks[2].stored = catalog_.chunks[0].stored;
  catalog_.chunks[2].offset = catalog_.chunks[0].offset;
  EXPECT_THAT(Check(), IsEmpty());
  EXPECT_EQ(totals_.records, 2U);
  EXPECT_EQ(totals_.bytes, 8U + 12U);
  Damage(catalog_.chunks[0].stored.offset);
  EXPECT_THAT(Check(), ElementsAre("payload.crc w", "payload.crc packed"));
}

TEST_F(Payload, ReadsLooseRecordsThatNoEntryHas) {
  const StoredTensor stored = catalog_.chunks[0].stored;
  loose_ = {{.file = 0, .entry = 0, .stored = stored}};
  EXPECT_THAT(Check(), IsEmpty());
  EXPECT_EQ(totals_.records, 4U);
  selected_.assign(selected_.size(), false);
  loose_[0].entry = -1;
  Damage(stored.offset);
  EXPECT_THAT(Check(), ElementsAre("payload.crc "));
  EXPECT_EQ(totals_.records, 1U);
}

// In pieces, by several threads, with little memory.
TEST(PayloadOfALargeStorage, IsTheCrcOfTheWhole) {
  MemoryFileSystem files;
  std::string bytes = dcp::Floats(5'000'000);
  files.Put("/m", bytes);
  Catalog catalog;
  catalog.root = "/m";
  catalog.files = {{.path = "", .bytes = bytes.size(), .mtime_ns = test::Value(files.Stat("/m")).mtime_ns}};
  const StoredTensor stored{.bytes = bytes.size(), .crc = Crc32(test::BytesOf(bytes)), .crc_known = true};
  for (const uint64_t memory : {uint64_t{1}, uint64_t{100'000}, uint64_t{1} << 30}) {
    Findings findings;
    const std::vector<LooseRecord> loose = {{.file = 0, .entry = -1, .stored = stored}};
    const auto totals =
        test::Value(CheckPayloads(files, catalog, {}, {.jobs = 3, .memory_bytes = memory}, findings, loose));
    EXPECT_THAT(findings, IsEmpty());
    EXPECT_EQ(totals.bytes, bytes.size());
    EXPECT_EQ(totals.unknown, 0U);
  }
}

TEST_F(Payload, StopsWhenAsked) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(test::ErrorOf(CheckPayloads(files_, catalog_, selected_, {.stop = stop.get_token()}, findings_)).kind(),
            ErrorKind::kCancelled);
}

}  // namespace
}  // namespace dcpctl::check
