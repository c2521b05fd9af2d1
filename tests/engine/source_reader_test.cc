#include "engine/source_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "support/result.h"
#include "tests/engine/sample.h"

namespace dcpctl::engine {
namespace {

using test::MemoryFileSystem;
using test::Sample;
using test::Value;

constexpr uint64_t kBytes = 60'000;

// Tensors "0", "1", ... of kBytes each, one chunk each.
Sample OneChunkEach(const std::vector<Codec>& codecs) {
  Sample sample(51);
  for (size_t i = 0; i < codecs.size(); ++i) {
    sample.Add(std::to_string(i), DType::kUInt8, {kBytes}, {{.box = {{0}, {kBytes}}, .codec = codecs[i]}});
  }
  return sample;
}

class SourceReaderTest : public testing::Test {
 protected:
  void Open(Sample sample, uint64_t decoded_bytes) {
    sample_ = std::move(sample);
    plan_ = sample_->Store(files_);
    std::vector<io::CachedPath> paths;
    for (const PlanFile& file : plan_.files) paths.push_back({.root = file.root, .relative = file.relative});
    cache_.emplace(files_, paths);
    reader_.emplace(plan_, *cache_, files_, decoded_bytes, "/");
    files_.SetFaults({});
  }

  std::string Read(uint32_t source, uint64_t pos, uint64_t length) {
    std::vector<std::byte> bytes(length);
    Value(reader_->Read(source, pos, bytes));
    return test::TextOf(bytes);
  }

  uint64_t Scratches() {
    const auto calls = files_.calls();
    return static_cast<uint64_t>(std::count(calls.begin(), calls.end(), "scratch /"));
  }

  MemoryFileSystem files_;
  std::optional<Sample> sample_;
  Plan plan_;
  std::optional<io::FileCache> cache_;
  std::optional<SourceReader> reader_;
};

TEST_F(SourceReaderTest, ReadsPlainSourcesInPlace) {
  Open(OneChunkEach({Codec::kNone}), 0);
  EXPECT_EQ(Read(0, 100, 50), sample_->data(0).substr(100, 50));
  EXPECT_EQ(reader_->bytes_read(), 50u);
}

TEST_F(SourceReaderTest, DecodesOnceIntoMemoryWhileTheBudgetLasts) {
  Open(OneChunkEach({Codec::kDeflate, Codec::kZstd}), 2 * kBytes);
  for (const uint32_t source : {0u, 1u, 0u, 1u})
    EXPECT_EQ(Read(source, 59'000, 1000), sample_->data(source).substr(59'000));
  EXPECT_EQ(Scratches(), 0u);
  EXPECT_EQ(reader_->bytes_read(), sample_->chunk(0).stored.encoded_bytes + sample_->chunk(1).length);
}

TEST_F(SourceReaderTest, DecodesToScratchFilesBeyondTheBudget) {
  Open(OneChunkEach({Codec::kDeflate, Codec::kZstd, Codec::kDeflate}), kBytes);
  for (const uint32_t source : {0u, 1u, 2u, 1u}) EXPECT_EQ(Read(source, 0, kBytes), sample_->data(source));
  EXPECT_EQ(Scratches(), 2u);
}

TEST_F(SourceReaderTest, UsesTheMemoryOfFinishedRegionsAgain) {
  Open(OneChunkEach({Codec::kDeflate, Codec::kZstd, Codec::kDeflate}), kBytes);
  for (const uint32_t source : {0u, 1u, 2u}) {
    EXPECT_EQ(Read(source, 0, 10), sample_->data(source).substr(0, 10));
    reader_->FinishRegion(plan_.regions[source]);
  }
  EXPECT_EQ(Scratches(), 0u);
}

TEST_F(SourceReaderTest, DecodesOnceForSeveralThreads) {
  Open(OneChunkEach({Codec::kZstd}), kBytes);
  {
    std::vector<std::jthread> threads;
    for (uint64_t t = 0; t < 4; ++t) {
      threads.emplace_back([this, t] { EXPECT_EQ(Read(0, t * 1000, 1000), sample_->data(0).substr(t * 1000, 1000)); });
    }
  }
  EXPECT_EQ(reader_->bytes_read(), sample_->chunk(0).length);
}

// As for the storages of an object. The second is not of the record.
TEST_F(SourceReaderTest, DecodesOnceForAllSourcesOfARecord) {
  for (const uint64_t budget : {uint64_t{0}, 2 * kBytes}) {
    Open(OneChunkEach({Codec::kZstd, Codec::kNone, Codec::kZstd, Codec::kZstd, Codec::kZstd}), budget);
    const StoredTensor whole = plan_.sources[0].stored;
    const auto put = [&](uint32_t source, uint64_t begin, uint64_t end) {
      plan_.sources[source] = plan_.sources[0];
      plan_.sources[source].stored.offset = whole.offset + begin;
      plan_.sources[source].stored.bytes = end - begin;
    };
    put(4, 0, 100);
    put(2, 100, 5000);  // right behind it
    put(3, 6000, 50'000);
    put(0, 40'000, 60'000);  // over another
    reader_.emplace(plan_, *cache_, files_, budget, "/");
    const std::string& all = sample_->data(0);
    EXPECT_EQ(Read(3, 10, 1000), all.substr(6010, 1000));
    EXPECT_EQ(Read(0, 0, 20'000), all.substr(40'000));
    EXPECT_EQ(Read(2, 0, 4900), all.substr(100, 4900));
    EXPECT_EQ(Read(4, 99, 1), all.substr(99, 1));
    EXPECT_EQ(reader_->bytes_read(), sample_->chunk(0).length);
    for (const uint32_t region : {0u, 1u, 2u, 3u}) reader_->FinishRegion(plan_.regions[region]);
    EXPECT_EQ(Read(4, 0, 50), all.substr(0, 50));
    EXPECT_EQ(reader_->bytes_read(), sample_->chunk(0).length);
    EXPECT_EQ(Scratches(), budget == 0 ? 1u : 0u);
  }
}

TEST_F(SourceReaderTest, ReportsDamagedDataWithItsFile) {
  Sample sample(52);
  sample.Add("x", DType::kUInt8, {kBytes}, {{.box = {{0}, {kBytes}}, .codec = Codec::kZstd}});
  Plan plan = sample.Store(files_);
  std::string broken = sample.contents(0);
  broken[sample.chunk(0).offset + 1] ^= 1;  // of the frame's magic number
  files_.Put("/ckpt/__0_0.distcp", broken);
  io::FileCache cache(files_, {{.root = "/ckpt", .relative = "__0_0.distcp"}});
  for (const uint64_t budget : {uint64_t{0}, kBytes}) {
    SourceReader reader(plan, cache, files_, budget, "/");
    std::vector<std::byte> bytes(10);
    const Error error = test::ErrorOf(reader.Read(0, 0, bytes));
    EXPECT_EQ(error.kind(), ErrorKind::kCorrupt);
    EXPECT_EQ(error.place().file, "/ckpt/__0_0.distcp");
  }
}

TEST_F(SourceReaderTest, ReportsAFullScratchDisk) {
  Open(OneChunkEach({Codec::kDeflate}), 0);
  files_.SetFaults({.write_error_at = 5000});
  std::vector<std::byte> bytes(10);
  EXPECT_EQ(test::ErrorOf(reader_->Read(0, 0, bytes)).kind(), ErrorKind::kIo);
}

}  // namespace
}  // namespace dcpctl::engine
