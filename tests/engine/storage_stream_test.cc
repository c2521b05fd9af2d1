#include "engine/storage_stream.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/crc32.h"
#include "support/result.h"
#include "tests/engine/sample.h"

namespace dcpctl::engine {
namespace {

using test::ErrorOf;
using test::Value;

// One tensor [40000] of int16 and its file, stored with `codec`.
class StorageStream : public testing::TestWithParam<Codec> {
 protected:
  StorageStream() : sample_(41) {
    sample_.Add("x", DType::kInt16, {40'000}, {{.box = {{0}, {40'000}}, .codec = GetParam()}});
    const auto view = test::BytesOf(sample_.contents(0));
    file_.emplace("file", std::vector<std::byte>(view.begin(), view.end()));
    const Chunk& chunk = sample_.chunk(0);
    storage_ = {.stored = chunk.stored, .record_offset = chunk.offset, .record_length = chunk.length};
  }

  test::Sample sample_;
  std::optional<MemorySource> file_;
  EncodedStorage storage_;
};

TEST_P(StorageStream, GivesTheStorageInOrder) {
  std::string text;
  Value(StreamStorage(*file_, storage_, [&](std::span<const std::byte> bytes) -> Result<void> {
    text += test::TextOf(bytes);
    return {};
  }));
  EXPECT_EQ(text, sample_.data(0));
}

TEST_P(StorageStream, DigestsTheStorage) {
  EXPECT_EQ(Value(DigestStorage(*file_, storage_)), test::PlainCrc(sample_.data(0)));
}

TEST_P(StorageStream, PassesErrorsOfTheSinkOn) {
  const Error error =
      ErrorOf(StreamStorage(*file_, storage_, [](auto) -> Result<void> { return Fail(ErrorKind::kIo, "full"); }));
  EXPECT_EQ(error.kind(), ErrorKind::kIo);
}

TEST_P(StorageStream, KnowsHowMuchOfTheFileItTakes) {
  const uint64_t expected = GetParam() == Codec::kNone ? 80'000 : storage_.record_length;
  EXPECT_EQ(EncodedBytes(storage_), expected);
}

TEST_P(StorageStream, FailsForACutFile) {
  const auto view = test::BytesOf(sample_.contents(0)).first(sample_.contents(0).size() - 100);
  const MemorySource cut("file", {view.begin(), view.end()});
  EXPECT_EQ(ErrorOf(DigestStorage(cut, storage_)).kind(), ErrorKind::kCorrupt);
}

INSTANTIATE_TEST_SUITE_P(EachCodec, StorageStream, testing::Values(Codec::kNone, Codec::kDeflate, Codec::kZstd),
                         [](const auto& param) {
                           return std::string(std::array{"Plain", "Zstd", "Deflate"}[static_cast<size_t>(param.param)]);
                         });

// As a record of an object with several storages does.
TEST(StorageStreamLimits, LetARecordDecodeToMuchMore) {
  test::Sample sample(42);
  sample.Add("x", DType::kInt8, {4'000'000}, {{.box = {{0}, {4'000'000}}, .codec = Codec::kZstd}});
  const auto view = test::BytesOf(sample.contents(0));
  const MemorySource file("file", {view.begin(), view.end()});
  EncodedStorage storage{.stored = sample.chunk(0).stored,
                         .record_offset = sample.chunk(0).offset,
                         .record_length = sample.chunk(0).length};
  std::string all;
  const auto append = [&all](std::span<const std::byte> bytes) -> Result<void> {
    all.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  };
  Value(StreamStorage(file, storage, append));
  storage.stored.bytes = 1000;
  EXPECT_EQ(Value(DigestStorage(file, storage)), Crc32(test::BytesOf(all.substr(0, 1000))));
}

TEST(StreamRecord, GivesEachRangeItsBytes) {
  test::Sample sample(44);
  sample.Add("x", DType::kInt8, {1'000'000}, {{.box = {{0}, {1'000'000}}, .codec = Codec::kZstd}});
  const auto view = test::BytesOf(sample.contents(0));
  const MemorySource file("file", {view.begin(), view.end()});
  const uint64_t at = sample.chunk(0).stored.offset;
  // One after the other, around another, over another, empty, the same again.
  const std::vector<std::pair<uint64_t, uint64_t>> parts = {{0, 100},           {100, 300'000},      {200, 200},
                                                            {250, 900'000},     {300, 310},          {300, 310},
                                                            {400'000, 500'000}, {999'000, 1'000'000}};
  std::vector<DecodedRange> ranges;
  for (const auto& [begin, end] : parts) ranges.push_back({at + begin, at + end});
  std::vector<std::string> texts(parts.size());
  const auto append = [&texts](size_t i, std::span<const std::byte> bytes) -> Result<void> {
    texts[i] += test::TextOf(bytes);
    return {};
  };
  Value(StreamRecord(file, sample.chunk(0).offset, sample.chunk(0).length, ranges, append));
  for (size_t i = 0; i < parts.size(); ++i)
    EXPECT_TRUE(texts[i] == sample.data(0).substr(parts[i].first, parts[i].second - parts[i].first)) << i;
}

// A storage that is shorter than promised must not pass for whole.
TEST(StorageStreamLimits, RefuseARecordThatDecodesToLess) {
  for (const Codec codec : {Codec::kZstd, Codec::kDeflate}) {
    test::Sample sample(43);
    sample.Add("x", DType::kInt8, {5000}, {{.box = {{0}, {5000}}, .codec = codec}});
    const auto view = test::BytesOf(sample.contents(0));
    const MemorySource file("file", {view.begin(), view.end()});
    EncodedStorage storage{.stored = sample.chunk(0).stored,
                           .record_offset = sample.chunk(0).offset,
                           .record_length = sample.chunk(0).length};
    storage.stored.bytes = 6000;
    EXPECT_EQ(ErrorOf(DigestStorage(file, storage)).kind(), ErrorKind::kCorrupt);
  }
}

}  // namespace
}  // namespace dcpctl::engine
