#include "engine/tile_filler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/result.h"
#include "tests/engine/fake_outputs.h"
#include "tests/engine/sample.h"

namespace dcpctl::engine {
namespace {

using test::ErrorOf;
using test::MemoryFileSystem;
using test::Pick;
using test::Random;
using test::SameBytes;
using test::Sample;
using test::StoredChunk;
using test::Value;

// [begin, end) in elements: rows of a random dimension, a few at a time, never over the end of the row above. In
// random order.
std::vector<std::pair<uint64_t, uint64_t>> RandomTiles(Random& random, DimsView shape) {
  uint64_t row = 1;
  size_t d = shape.size();
  for (uint64_t up = Pick(random, 0, shape.size()); up > 0; --up) row *= shape[--d];
  const uint64_t outer = d == 0 ? row : row * shape[d - 1];
  const uint64_t numel = *Numel(shape);
  std::vector<std::pair<uint64_t, uint64_t>> tiles;
  for (uint64_t begin = 0; begin < numel;) {
    const uint64_t rows_left = (outer - begin % outer) / row;
    const uint64_t end = begin + Pick(random, 1, rows_left) * row;
    tiles.emplace_back(begin, end);
    begin = end;
  }
  for (size_t i = tiles.size(); i > 1; --i) std::swap(tiles[i - 1], tiles[Pick(random, 0, i - 1)]);
  return tiles;
}

struct Room {
  explicit Room(uint64_t bytes) : memory(bytes), scratch(memory) {}
  std::vector<std::byte> memory;
  Scratch scratch;
};

class TileFillerTest : public testing::Test {
 protected:
  void Open(Sample sample) {
    sample_ = std::move(sample);
    plan_ = sample_->Store(files_);
    std::vector<io::CachedPath> paths;
    for (const PlanFile& file : plan_.files) paths.push_back({.root = file.root, .relative = file.relative});
    filler_.reset();
    reader_.reset();
    cache_.emplace(files_, paths);
    reader_.emplace(plan_, *cache_, files_, uint64_t{1} << 20, "/");
    filler_.emplace(plan_, *reader_);
  }

  // Fills a region tile by tile with this much scratch, and compares with the tensor.
  void Fill(uint32_t region, Random& random, uint64_t scratch_bytes) {
    const Region& r = plan_.regions[region];
    Room room(scratch_bytes);
    std::vector<std::byte> bytes(r.bytes, std::byte{0xee});
    if (r.bytes > 0) {
      for (const auto& [begin, end] : RandomTiles(random, plan_.ShapeOf(r))) {
        const auto part = std::span(bytes).subspan(begin * r.item_bytes, (end - begin) * r.item_bytes);
        Value(filler_->Fill(region, begin * r.item_bytes, part, room.scratch));
      }
    }
    EXPECT_TRUE(SameBytes(test::TextOf(bytes), sample_->data(region))) << plan_.KeyOf(r);
    EXPECT_EQ(filler_->digest(region).Whole(r.bytes), test::PlainCrc(sample_->data(region))) << plan_.KeyOf(r);
  }

  // The same for one tensor alone, with little and with much scratch. The sources must pass for sound as well.
  void FillOne(DType dtype, const Dims& shape, const std::vector<StoredChunk>& chunks) {
    Random random(61);
    for (const uint64_t scratch_bytes : {16U, 100U, 70'000U}) {
      Sample sample(62);
      sample.Add("x", dtype, shape, chunks);
      Open(std::move(sample));
      Fill(0, random, scratch_bytes);
      Room room(scratch_bytes);
      Value(filler_->VerifySources(0, room.scratch));
    }
  }

  MemoryFileSystem files_;
  std::optional<Sample> sample_;
  Plan plan_;
  std::optional<io::FileCache> cache_;
  std::optional<SourceReader> reader_;
  std::optional<TileFiller> filler_;
};

std::vector<StoredChunk> Plain(const std::vector<Box>& boxes) {
  std::vector<StoredChunk> chunks;
  for (const Box& box : boxes) chunks.push_back({.box = box});
  return chunks;
}

TEST_F(TileFillerTest, JoinsRowShards) {
  FillOne(DType::kFloat32, {50, 30}, Plain(test::GridTiling(Dims{50, 30}, Dims{4, 1})));
}

TEST_F(TileFillerTest, JoinsColumnShards) {
  FillOne(DType::kBFloat16, {50, 30}, Plain(test::GridTiling(Dims{50, 30}, Dims{1, 4})));
}

TEST_F(TileFillerTest, JoinsAGrid) {
  FillOne(DType::kInt64, {50, 30}, Plain(test::GridTiling(Dims{50, 30}, Dims{3, 4})));
}

TEST_F(TileFillerTest, JoinsCutsInThreeDimensions) {
  FillOne(DType::kUInt8, {13, 11, 17}, Plain(test::GridTiling(Dims{13, 11, 17}, Dims{3, 2, 4})));
}

TEST_F(TileFillerTest, TransposesSources) {
  FillOne(DType::kFloat32, {40, 25}, {{.box = {{0, 0}, {40, 25}}, .strides = {1, 40}}});
  FillOne(DType::kFloat32, {40, 25}, {{.box = {{0, 0}, {20, 25}}, .strides = {1, 20}}, {.box = {{20, 0}, {20, 25}}}});
}

TEST_F(TileFillerTest, ReadsChannelsLast) {
  FillOne(DType::kFloat16, {2, 5, 6, 7}, {{.box = {{0, 0, 0, 0}, {2, 5, 6, 7}}, .strides = {210, 1, 35, 5}}});
}

TEST_F(TileFillerTest, ReadsViewsWithOffsetsAndGaps) {
  FillOne(DType::kInt32, {10, 9},
          {{.box = {{0, 0}, {10, 9}}, .strides = {50, 3}, .first_element = 13, .spare_elements = 5}});
  FillOne(DType::kInt32, {10, 9},
          {{.box = {{0, 0}, {10, 9}}, .strides = {9, 1}, .first_element = 4, .spare_elements = 100}});
}

TEST_F(TileFillerTest, RepeatsElementsOfStrideZero) {
  FillOne(DType::kFloat64, {6, 8}, {{.box = {{0, 0}, {6, 8}}, .strides = {0, 1}}});
  FillOne(DType::kFloat64, {6, 8}, {{.box = {{0, 0}, {6, 8}}, .strides = {1, 0}}});
  FillOne(DType::kFloat64, {6, 8}, {{.box = {{0, 0}, {6, 8}}, .strides = {0, 0}, .first_element = 3}});
}

TEST_F(TileFillerTest, ReadsWindowsThatOverlap) {
  FillOne(DType::kInt16, {20, 5}, {{.box = {{0, 0}, {20, 5}}, .strides = {1, 1}}});
}

TEST_F(TileFillerTest, SwapsBytesOfTheOtherOrder) {
  for (const DType dtype : {DType::kUInt8, DType::kFloat16, DType::kFloat32, DType::kFloat64, DType::kComplex32,
                            DType::kComplex64, DType::kComplex128}) {
    FillOne(dtype, {9, 10}, {{.box = {{0, 0}, {9, 10}}, .big_endian = true}});
    FillOne(dtype, {9, 10},
            {{.box = {{0, 0}, {9, 4}}, .strides = {1, 9}, .big_endian = true}, {.box = {{0, 4}, {9, 6}}}});
  }
}

TEST_F(TileFillerTest, ReadsTheOneElementOfA0dTensor) {
  FillOne(DType::kFloat32, {}, {{.box = {}, .first_element = 2}});
}

TEST_F(TileFillerTest, HasNothingToDoForNoElements) { FillOne(DType::kFloat32, {3, 0}, {{.box = {{0, 0}, {3, 0}}}}); }

TEST_F(TileFillerTest, TakesEncodedSourcesForPlainOnes) {
  for (const Codec codec : {Codec::kDeflate, Codec::kZstd}) {
    FillOne(DType::kFloat32, {30, 20},
            {{.box = {{0, 0}, {30, 5}}, .codec = codec},
             {.box = {{0, 5}, {30, 15}}, .strides = {1, 30}, .big_endian = true, .codec = codec}});
  }
}

TEST_F(TileFillerTest, FillsRandomTensorsFromRandomChunks) {
  constexpr DType kDTypes[] = {DType::kUInt8, DType::kBFloat16, DType::kFloat32, DType::kComplex64, DType::kComplex128};
  Random random(63);
  for (uint32_t round = 0; round < 150; ++round) {
    Sample sample(round);
    const uint64_t tensors = Pick(random, 1, 3);
    for (uint64_t t = 0; t < tensors; ++t) {
      const Dims shape = test::RandomShape(random, 4, 9);
      std::vector<StoredChunk> chunks;
      for (const Box& box : test::RandomTiling(random, shape, Pick(random, 0, 12))) {
        StoredChunk chunk{.box = box,
                          .first_element = Pick(random, 0, 2) * Pick(random, 0, 20),
                          .spare_elements = Pick(random, 0, 3),
                          .big_endian = Pick(random, 0, 3) == 0};
        chunk.strides = RowMajorStrides(box.sizes);
        switch (Pick(random, 0, 3)) {
          case 0: break;
          case 1: std::reverse(chunk.strides.begin(), chunk.strides.end()); break;  // perhaps with overlaps
          case 2:
            for (uint64_t& stride : chunk.strides) stride *= Pick(random, 1, 3);
            break;
          case 3:
            for (uint64_t& stride : chunk.strides) stride = Pick(random, 0, 15);
            break;
        }
        chunks.push_back(std::move(chunk));
      }
      sample.Add("t" + std::to_string(t), kDTypes[Pick(random, 0, std::size(kDTypes) - 1)], shape, chunks);
    }
    SCOPED_TRACE("round " + std::to_string(round));
    Open(std::move(sample));
    const uint64_t scratch_bytes = Pick(random, 0, 1) != 0 ? 65'536 : Pick(random, 16, 400);
    Room room(scratch_bytes);
    for (uint32_t t = 0; t < tensors; ++t) {
      Fill(t, random, scratch_bytes);
      Value(filler_->VerifySources(t, room.scratch));
    }
    if (HasFailure()) return;
  }
}

// Larger than any scratch, in one tile and in many: the reads that go over gaps and those that do not.
TEST_F(TileFillerTest, ReadsWideStrides) {
  struct Case {
    Dims shape;
    Dims strides;
  };
  for (const auto& [shape, strides] : std::vector<Case>{{{300, 40}, {1, 3000}},
                                                        {{40, 500}, {1, 45}},
                                                        {{3, 5000}, {1, 3}},
                                                        {{2000}, {17}},
                                                        {{300}, {5000}},
                                                        {{300, 2}, {2000, 1}}}) {
    FillOne(DType::kFloat32, shape, {{.box = {Dims(shape.size(), 0), shape}, .strides = strides}});
  }
}

TEST_F(TileFillerTest, ReadsTheBytesOfContiguousSourcesOnce) {
  Sample sample(64);
  sample.AddPlain("x", DType::kFloat32, {64, 50}, test::GridTiling(Dims{64, 50}, Dims{2, 3}));
  Open(std::move(sample));
  Room room(65'536);
  std::vector<std::byte> out(12'800);
  for (uint64_t half = 0; half < 2; ++half)
    Value(filler_->Fill(0, half * 6400, std::span(out).subspan(half * 6400, 6400), room.scratch));
  Value(filler_->VerifySources(0, room.scratch));
  EXPECT_EQ(reader_->bytes_read(), 12'800u);
}

// --- Checksums of the sources ---

void ExpectMismatch(const Error& error, const Place& place, const std::string& chunk) {
  EXPECT_EQ(error.kind(), ErrorKind::kCorrupt);
  EXPECT_EQ(error.place().file, place.file);
  EXPECT_EQ(error.place().offset, place.offset);
  EXPECT_NE(error.Text().find("CRC-32"), std::string::npos) << error.Text();
  EXPECT_NE(error.Text().find(chunk), std::string::npos) << error.Text();
}

class Checksums : public TileFillerTest {
 protected:
  Error Failure(uint64_t scratch_bytes) {
    Room room(scratch_bytes);
    std::vector<std::byte> out(plan_.regions[0].bytes);
    Value(filler_->Fill(0, 0, out, room.scratch));
    return ErrorOf(filler_->VerifySources(0, room.scratch));
  }
};

TEST_F(Checksums, AreComparedForEachChunk) {
  for (const uint64_t damaged : {0U, 1U, 2U}) {
    Sample sample(65);
    sample.AddPlain("layer.w", DType::kFloat32, {30, 10}, test::GridTiling(Dims{30, 10}, Dims{3, 1}));
    sample.Damage(damaged, 17);
    const Place place = sample.PlaceOf(damaged);
    Open(std::move(sample));
    const std::string rows = std::to_string(10 * damaged) + ":" + std::to_string(10 * damaged + 10);
    ExpectMismatch(Failure(65'536), place, "chunk [" + rows + ", 0:10] of \"layer.w\"");
  }
}

TEST_F(Checksums, CoverBytesBetweenThoseThatAreUsed) {
  for (const uint64_t scratch_bytes : {64U, 70'000U}) {
    Sample sample(66);
    sample.Add("x", DType::kInt32, {10, 9},
               {{.box = {{0, 0}, {10, 9}}, .strides = {50, 3}, .first_element = 13, .spare_elements = 5}});
    sample.Damage(0, 5);  // before the first element
    const Place place = sample.PlaceOf(0);
    Open(std::move(sample));
    ExpectMismatch(Failure(scratch_bytes), place, "chunk [0:10, 0:9]");
  }
}

TEST_F(Checksums, OfEncodedSourcesAreThoseOfDecodedBytes) {
  for (const Codec codec : {Codec::kDeflate, Codec::kZstd}) {
    Sample sample(67);
    sample.Add("x", DType::kInt32, {100}, {{.box = {{0}, {100}}, .crc_error = 0x80, .codec = codec}});
    const Place place = sample.PlaceOf(0);
    Open(std::move(sample));
    ExpectMismatch(Failure(65'536), place, "of \"x\"");
  }
}

TEST_F(Checksums, AreLeftAloneWhereTheWriterRecordedNone) {
  Sample sample(68);
  sample.Add("x", DType::kInt32, {100}, {{.box = {{0}, {100}}, .crc_known = false, .crc_error = 1}});
  Open(std::move(sample));
  std::vector<std::byte> bytes(400);
  Room room(65'536);
  Value(filler_->Fill(0, 0, bytes, room.scratch));
  Value(filler_->VerifySources(0, room.scratch));
}

// Regions 0 and 1 are both filled from source 0.
class SharedSource : public TileFillerTest {
 protected:
  void OpenShared(uint32_t crc_error) {
    Sample sample(69);
    sample.Add("x", DType::kInt32, {100}, {{.box = {{0}, {100}}, .crc_error = crc_error}});
    sample.Add("y", DType::kInt32, {100}, {{.box = {{0}, {100}}}});
    Open(std::move(sample));
    filler_.reset();
    plan_.pieces[1].source = 0;
    filler_.emplace(plan_, *reader_);
  }

  Result<void> FillAndVerify(uint32_t region) {
    Value(filler_->Fill(region, 0, bytes_, room_.scratch));
    return filler_->VerifySources(region, room_.scratch);
  }

  std::vector<std::byte> bytes_ = std::vector<std::byte>(400);
  Room room_ = Room(65'536);
};

TEST_F(SharedSource, IsComparedWithTheLastRegionThatUsesIt) {
  OpenShared(1);
  Value(FillAndVerify(0));
  EXPECT_EQ(ErrorOf(FillAndVerify(1)).kind(), ErrorKind::kCorrupt);
}

TEST_F(SharedSource, IsComparedWhenTheOtherRegionIsSkipped) {
  OpenShared(1);
  Value(filler_->SkipRegion(0, room_.scratch));
  EXPECT_EQ(ErrorOf(FillAndVerify(1)).kind(), ErrorKind::kCorrupt);
}

TEST_F(SharedSource, IsComparedWhenTheOtherRegionIsSkippedLater) {
  OpenShared(1);
  Value(FillAndVerify(1));
  EXPECT_EQ(ErrorOf(filler_->SkipRegion(0, room_.scratch)).kind(), ErrorKind::kCorrupt);
}

TEST_F(SharedSource, IsNotReadToSkipAllThatUseIt) {
  OpenShared(1);
  Value(filler_->SkipRegion(0, room_.scratch));
  Value(filler_->SkipRegion(1, room_.scratch));
  EXPECT_EQ(reader_->bytes_read(), 0U);
}

TEST_F(SharedSource, MayBeReadTwice) {
  OpenShared(0);
  Value(FillAndVerify(1));
  Value(FillAndVerify(0));
}

}  // namespace
}  // namespace dcpctl::engine
