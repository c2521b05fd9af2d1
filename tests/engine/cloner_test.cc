#include "engine/cloner.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/fake_math.h"
#include "support/result.h"
#include "tests/engine/fake_outputs.h"
#include "tests/engine/sample.h"

namespace dcpctl::engine {
namespace {

using test::BufferFile;
using test::ErrorOf;
using test::MemoryFileSystem;
using test::RunToFile;
using test::SameBytes;
using test::Sample;
using test::StoredChunk;
using test::Value;

constexpr uint64_t kBlock = 4096;
constexpr uint64_t kPlace = 64;  // of regions and storages within a block

const auto kCopies = [](uint64_t, uint64_t) -> Result<bool> { return true; };
const auto kRefuses = [](uint64_t, uint64_t) -> Result<bool> { return false; };

// "x": int8 [rows, 1000] in row shards that lie in their files as they will in the output; "small" under any block.
Sample Aligned(const std::vector<uint64_t>& shards) {
  Sample sample(71, kPlace);
  uint64_t rows = 0;
  std::vector<StoredChunk> chunks;
  for (const uint64_t shard : shards) {
    chunks.push_back({.box = {{rows, 0}, {shard, 1000}}, .place_in_block = (kPlace + rows * 1000) % kBlock});
    rows += shard;
  }
  sample.Add("x", DType::kInt8, {rows, 1000}, chunks);
  sample.Add("small", DType::kInt8, {100}, {{.box = {{0}, {100}}}});
  return sample;
}

TEST(Cloner, ClonesWholeBlocksAndCopiesTheEdges) {
  MemoryFileSystem files;
  Sample sample = Aligned({100, 77, 333});
  const Plan plan = sample.Store(files);
  BufferFile out(plan.outputs[0].bytes);
  out.on_clone = kCopies;
  const RunOutcome outcome = Value(RunToFile(files, plan, out, {.reflink = Reflink::kAlways}));
  EXPECT_TRUE(SameBytes(out.bytes(), sample.expected()));
  EXPECT_EQ(outcome.bytes_cloned, 510'000u);
  ASSERT_EQ(out.clones().size(), 3u);
  EXPECT_EQ(out.clones()[0].offset, plan.regions[0].offset + kBlock - kPlace);
  // What was not shared: up to a block at each end of each shard, and the small tensor.
  EXPECT_LE(outcome.bytes_read, 6 * kBlock + 100);
  EXPECT_GE(outcome.bytes_read, 100u);
}

TEST(Cloner, GivesTheBytesThatCopyingGives) {
  MemoryFileSystem files;
  Sample sample = Aligned({1, 2, 3, 300, 20, 64});
  const Plan plan = sample.Store(files, /*crc_first=*/true);
  BufferFile cloned(plan.outputs[0].bytes);
  cloned.on_clone = kCopies;
  BufferFile copied(plan.outputs[0].bytes);
  copied.on_clone = kCopies;
  Value(RunToFile(files, plan, cloned));
  EXPECT_EQ(Value(RunToFile(files, plan, copied, {.reflink = Reflink::kNever})).bytes_cloned, 0u);
  EXPECT_TRUE(copied.clones().empty());
  EXPECT_TRUE(SameBytes(cloned.bytes(), copied.bytes()));
  EXPECT_TRUE(SameBytes(cloned.bytes(), sample.expected()));
}

// Both types have the same size, and the chunks lie as the output wants them.
TEST(Cloner, ClonesNothingThatIsCast) {
  MemoryFileSystem files;
  Sample sample(73, kPlace);
  sample.Add("x", DType::kFloat16, {100, 1000}, {{.box = {{0, 0}, {100, 1000}}, .place_in_block = kPlace}});
  sample.Cast(0, DType::kBFloat16);
  const Plan plan = sample.Store(files);
  BufferFile out(plan.outputs[0].bytes);
  out.on_clone = kCopies;
  EXPECT_EQ(Value(RunToFile(files, plan, out, {.math = &test::kFakeMath})).bytes_cloned, 0u);
  EXPECT_TRUE(out.clones().empty());
  EXPECT_TRUE(SameBytes(out.bytes(), sample.expected()));
  const Error error = ErrorOf(RunToFile(files, plan, out, {.reflink = Reflink::kAlways, .math = &test::kFakeMath}));
  EXPECT_NE(error.Text().find("it is cast to another type"), std::string::npos) << error.Text();
}

TEST(Cloner, CopiesWhatTheFileSystemRefuses) {
  MemoryFileSystem files;
  Sample sample = Aligned({100, 77});
  const Plan plan = sample.Store(files);
  BufferFile out(plan.outputs[0].bytes);
  out.on_clone = kRefuses;
  EXPECT_EQ(Value(RunToFile(files, plan, out)).bytes_cloned, 0u);
  EXPECT_TRUE(SameBytes(out.bytes(), sample.expected()));
}

TEST(Cloner, CopiesAllOfARegionWhenALaterPartIsRefused) {
  MemoryFileSystem files;
  Sample sample = Aligned({100, 77, 50});
  const Plan plan = sample.Store(files);
  BufferFile out(plan.outputs[0].bytes);
  int calls = 0;
  out.on_clone = [&](uint64_t, uint64_t) -> Result<bool> { return ++calls < 3; };
  EXPECT_EQ(Value(RunToFile(files, plan, out)).bytes_cloned, 0u);
  EXPECT_EQ(out.clones().size(), 2u);
  EXPECT_TRUE(SameBytes(out.bytes(), sample.expected()));
}

TEST(Cloner, PassesErrorsOn) {
  MemoryFileSystem files;
  Sample sample = Aligned({100});
  const Plan plan = sample.Store(files);
  BufferFile out(plan.outputs[0].bytes);
  out.on_clone = [](uint64_t, uint64_t) -> Result<bool> { return Fail(ErrorKind::kIo, "disk"); };
  EXPECT_EQ(ErrorOf(RunToFile(files, plan, out)).kind(), ErrorKind::kIo);
}

TEST(Cloner, LeavesRegionsAloneThatAreNotClonedWhole) {
  // Row-major but for the second chunk.
  MemoryFileSystem files;
  Sample sample(72, kPlace);
  sample.Add("mixed", DType::kInt8, {200, 1000},
             {{.box = {{0, 0}, {100, 1000}}, .place_in_block = kPlace},
              {.box = {{100, 0}, {100, 1000}}, .strides = {1, 100}}});
  sample.Add("whole", DType::kInt8, {100'000}, {{.box = {{0}, {100'000}}, .place_in_block = kPlace}});
  const Plan plan = sample.Store(files);
  BufferFile out(plan.outputs[0].bytes);
  out.on_clone = kCopies;
  EXPECT_EQ(Value(RunToFile(files, plan, out)).bytes_cloned, 100'000u);
  EXPECT_EQ(out.clones().size(), 1u);
  EXPECT_TRUE(SameBytes(out.bytes(), sample.expected()));
}

// A source of a cloned region that a copied one uses as well.
TEST(Cloner, StillChecksSourcesOfCopiedRegions) {
  MemoryFileSystem files;
  Sample sample(73, kPlace);
  sample.Add("x", DType::kInt8, {100'000}, {{.box = {{0}, {100'000}}, .place_in_block = kPlace}});
  sample.Add("y", DType::kInt8, {100'000}, {{.box = {{0}, {100'000}}}});
  sample.Damage(0, 50'000);
  Plan plan = sample.Store(files);
  plan.pieces[1].source = 0;
  BufferFile out(plan.outputs[0].bytes);
  int calls = 0;
  out.on_clone = [&](uint64_t, uint64_t) -> Result<bool> { return ++calls == 1; };
  EXPECT_EQ(ErrorOf(RunToFile(files, plan, out)).kind(), ErrorKind::kCorrupt);
  EXPECT_EQ(out.clones().size(), 1u);
}

// Why a region cannot be cloned, told when it must be.
struct Reason {
  std::string text;
  StoredChunk chunk;
};

TEST(Cloner, SaysWhyWhenItMustClone) {
  const Box box{{0}, {100'000}};
  const std::vector<Reason> reasons = {
      {"it is compressed", {.box = box, .codec = Codec::kDeflate}},
      {"it is compressed", {.box = box, .codec = Codec::kZstd}},
      {"byte order", {.box = box, .big_endian = true, .place_in_block = kPlace}},
      {"no checksum", {.box = box, .crc_known = false, .place_in_block = kPlace}},
      {"no whole runs", {.box = box, .strides = {2}, .place_in_block = kPlace}},
      {"no whole runs", {.box = box, .first_element = 1, .place_in_block = kPlace - 2}},
      {"no whole runs", {.box = box, .spare_elements = 1, .place_in_block = kPlace}},
      {"within a block", {.box = box, .place_in_block = kPlace + 1}},
      {"does not share", {.box = box, .place_in_block = kPlace}},
  };
  for (const auto& [text, chunk] : reasons) {
    MemoryFileSystem files;
    Sample sample(74, kPlace);
    sample.Add("x", DType::kInt16, {100'000}, {chunk});
    const Plan plan = sample.Store(files);
    BufferFile out(plan.outputs[0].bytes);
    out.on_clone = kRefuses;
    const Error error = ErrorOf(RunToFile(files, plan, out, {.reflink = Reflink::kAlways}));
    EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
    EXPECT_EQ(error.place().file, "/out/model.pt");
    EXPECT_NE(error.message().find("cannot clone \"x\": "), std::string::npos) << error.message();
    EXPECT_NE(error.message().find(text), std::string::npos) << error.message();
    BufferFile copy(plan.outputs[0].bytes);
    copy.on_clone = kRefuses;
    Value(RunToFile(files, plan, copy));
    EXPECT_TRUE(SameBytes(copy.bytes(), sample.expected())) << text;
  }
}

TEST(Cloner, SaysThatAChunkIsSmallerThanABlock) {
  MemoryFileSystem files;
  Sample sample = Aligned({4, 100});
  const Plan plan = sample.Store(files);
  BufferFile out(plan.outputs[0].bytes);
  out.on_clone = kCopies;
  const Error error = ErrorOf(RunToFile(files, plan, out, {.reflink = Reflink::kAlways}));
  EXPECT_NE(error.message().find("fills no block"), std::string::npos) << error.message();
}

TEST(Cloner, TakesBytesOfEitherOrderForThemselves) {
  MemoryFileSystem files;
  Sample sample(75, kPlace);
  sample.Add("x", DType::kInt8, {100'000}, {{.box = {{0}, {100'000}}, .big_endian = true, .place_in_block = kPlace}});
  const Plan plan = sample.Store(files);
  BufferFile out(plan.outputs[0].bytes);
  out.on_clone = kCopies;
  EXPECT_EQ(Value(RunToFile(files, plan, out)).bytes_cloned, 100'000u);
  EXPECT_TRUE(SameBytes(out.bytes(), sample.expected()));
}

TEST(Cloner, GivesAStreamNoClones) {
  MemoryFileSystem files;
  Sample sample = Aligned({100});
  const Plan plan = sample.Store(files);
  test::BufferSink sink;
  EXPECT_EQ(Value(RunToStream(files, plan, sink)).bytes_cloned, 0u);
  EXPECT_TRUE(SameBytes(sink.bytes(), sample.expected()));
}

}  // namespace
}  // namespace dcpctl::engine
