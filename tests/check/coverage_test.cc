#include "check/coverage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace dcpctl::check {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Boxes = std::vector<std::pair<Dims, Dims>>;  // offsets, sizes

void AddTensor(Catalog& catalog, const std::string& key, const Dims& shape, const Boxes& boxes,
               DType dtype = DType::kFloat32) {
  Tensor& tensor = catalog.AddTensor(key, dtype, shape);
  tensor.first_chunk = static_cast<uint32_t>(catalog.chunks.size());
  tensor.chunk_count = static_cast<uint32_t>(boxes.size());
  for (const auto& [offsets, sizes] : boxes) {
    Chunk chunk;
    chunk.dims = catalog.dims.size();
    catalog.dims.insert(catalog.dims.end(), offsets.begin(), offsets.end());
    catalog.dims.insert(catalog.dims.end(), sizes.begin(), sizes.end());
    catalog.dims.resize(catalog.dims.size() + shape.size());
    catalog.chunks.push_back(chunk);
  }
}

std::vector<std::string> Check(const Catalog& catalog) {
  Findings findings;
  CheckChunkCoverage(catalog, findings);
  std::vector<std::string> texts;
  for (const Finding& finding : findings) {
    EXPECT_EQ(finding.severity, Severity::kError);
    texts.push_back(finding.id + " " + finding.key + ": " + finding.message);
  }
  return texts;
}

std::vector<std::string> Check(const Dims& shape, const Boxes& boxes) {
  Catalog catalog;
  AddTensor(catalog, "w", shape, boxes);
  return Check(catalog);
}

TEST(ChunkCoverage, AcceptsTilings) {
  EXPECT_THAT(Check({4, 6}, {{{0, 0}, {2, 6}}, {{2, 0}, {2, 6}}}), IsEmpty());
  EXPECT_THAT(Check({8, 8}, {{{4, 4}, {4, 4}}, {{0, 0}, {4, 4}}, {{0, 4}, {4, 4}}, {{4, 0}, {4, 4}}}),
              IsEmpty());                                                                         // C80
  EXPECT_THAT(Check({5, 3}, {{{0, 0}, {3, 3}}, {{3, 0}, {2, 3}}, {{5, 0}, {0, 3}}}), IsEmpty());  // C82
  EXPECT_THAT(Check({}, {{{}, {}}}), IsEmpty());                                                  // C56
  EXPECT_THAT(Check({0, 5}, {}), IsEmpty());                                                      // C57
  EXPECT_THAT(Check({0, 5}, {{{0, 0}, {0, 5}}}), IsEmpty());
}

TEST(ChunkCoverage, ReportsHoles) {  // C14
  EXPECT_THAT(Check({256, 256}, {{{0, 0}, {128, 256}}}),
              ElementsAre("dcp.coverage-hole w: 32768 elements are in no chunk, among them [128:256, 0:256] of a "
                          "tensor of shape [256, 256]"));
  EXPECT_THAT(Check({}, {}),
              ElementsAre("dcp.coverage-hole w: 1 elements are in no chunk, among them [] of a tensor of shape []"));
}

TEST(ChunkCoverage, ReportsOverlaps) {
  EXPECT_THAT(
      Check({4, 6}, {{{0, 0}, {2, 6}}, {{1, 0}, {2, 6}}}),
      ElementsAre(
          "dcp.chunk-overlap w: chunks [0:2, 0:6] and [1:3, 0:6] overlap, expected parts of a tensor of shape [4, 6]"));
  EXPECT_THAT(
      Check({2}, {{{0}, {2}}, {{0}, {2}}}),
      ElementsAre("dcp.chunk-overlap w: chunks [0:2] and [0:2] overlap, expected parts of a tensor of shape [2]"));
}

TEST(ChunkCoverage, ReportsChunksOutside) {
  EXPECT_THAT(
      Check({3, 6}, {{{0, 0}, {2, 6}}, {{2, 0}, {2, 6}}}),
      ElementsAre("dcp.chunk-outside w: chunk [2:4, 0:6] leaves it, expected a part of a tensor of shape [3, 6]"));
  EXPECT_EQ(Check({3}, {{{UINT64_MAX}, {2}}}).size(), 1U);
}

TEST(ChunkCoverage, ReportsShapesOfNoPossibleSize) {
  Catalog catalog;
  AddTensor(catalog, "product", {uint64_t{1} << 32, uint64_t{1} << 32}, {});
  AddTensor(catalog, "bytes", {uint64_t{1} << 61}, {}, DType::kFloat64);
  EXPECT_THAT(Check(catalog),
              ElementsAre("dcp.shape-overflow product: shape [4294967296, 4294967296] has more than 2^63 bytes",
                          "dcp.shape-overflow bytes: shape [2305843009213693952] has more than 2^63 bytes"));
}

TEST(ChunkCoverage, LooksAtEveryTensor) {
  Catalog catalog;
  AddTensor(catalog, "bad", {4}, {{{0}, {3}}});
  AddTensor(catalog, "good", {4}, {{{0}, {4}}});
  AddTensor(catalog, "worse", {4}, {});
  const auto texts = Check(catalog);
  ASSERT_EQ(texts.size(), 2U);
  EXPECT_EQ(texts[0].substr(0, 21), "dcp.coverage-hole bad");
  EXPECT_EQ(texts[1].substr(0, 23), "dcp.coverage-hole worse");
}

}  // namespace
}  // namespace dcpctl::check
