#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dcpctl/mesh.h"
#include "support/result.h"

namespace dcpctl {
namespace {

using test::ErrorOf;
using test::Value;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A checkpoint as its metadata tells it.
class Like {
 public:
  Like() { catalog_.root = "/other"; }

  uint32_t AddFile(std::string path, std::optional<uint64_t> rank) {
    catalog_.files.push_back({.path = std::move(path), .rank = rank, .entries = 1});
    return static_cast<uint32_t>(catalog_.files.size() - 1);
  }
  void AddTensor(std::string_view key, const Dims& shape, const std::vector<std::pair<Box, uint32_t>>& chunks) {
    Tensor& tensor = catalog_.AddTensor(key, DType::kFloat32, shape);
    tensor.first_chunk = static_cast<uint32_t>(catalog_.chunks.size());
    tensor.chunk_count = static_cast<uint32_t>(chunks.size());
    for (const auto& [box, file] : chunks) {
      catalog_.chunks.push_back({.dims = catalog_.dims.size(), .file = file, .stored = {}});
      catalog_.dims.insert(catalog_.dims.end(), box.offsets.begin(), box.offsets.end());
      catalog_.dims.insert(catalog_.dims.end(), box.sizes.begin(), box.sizes.end());
    }
  }
  void AddObject(std::string_view key, uint32_t file) {
    Object& object = catalog_.AddObject(key);
    object.length = 7;
    object.file = file;
  }
  Catalog& catalog() { return catalog_; }
  // Of the same entries.
  [[nodiscard]] std::vector<LayoutEntry> Entries() const {
    return ListLayoutEntries(catalog_, std::vector<bool>(catalog_.entries.size(), true));
  }

 private:
  Catalog catalog_;
};

std::vector<std::string> Pieces(const RankLayout& layout) {
  std::vector<std::string> texts;
  for (const RankPiece& piece : layout.pieces)
    texts.push_back(std::to_string(piece.entry) + "@" + std::to_string(piece.rank) + " " +
                    ToString(layout.BoxOf(piece)));
  return texts;
}

TEST(AssignLike, TakesBoxesAndRanksOfTheOther) {
  Like like;
  const uint32_t two = like.AddFile("__2_0.distcp", 2);
  const uint32_t zero = like.AddFile("__0_1.distcp", 0);
  like.AddTensor("w", {4, 2}, {{{{3, 0}, {1, 2}}, two}, {{{0, 0}, {3, 2}}, zero}, {{{4, 0}, {0, 2}}, zero}});
  like.AddObject("o", two);
  like.AddTensor("empty", {0, 2}, {{{{0, 0}, {0, 2}}, two}, {{{0, 0}, {0, 2}}, zero}});
  const RankLayout layout = Value(AssignLike(like.Entries(), like.catalog()));
  EXPECT_THAT(Pieces(layout), ElementsAre("0@2 [3:4, 0:2]", "0@0 [0:3, 0:2]", "1@2 []", "2@2 [0:0, 0:2]"));
  ASSERT_EQ(layout.ranks.size(), 3u);
  EXPECT_EQ(layout.ranks[0].bytes, 24u);
  EXPECT_EQ(layout.ranks[1].pieces, 0u);
  EXPECT_EQ(layout.ranks[2].bytes, 15u);
}

TEST(AssignLike, NumbersFilesThatAreNotNamedAfterARankLast) {
  Like like;
  const uint32_t other = like.AddFile("data.bin", std::nullopt);
  const uint32_t one = like.AddFile("__1_0.distcp", 1);
  const uint32_t last = like.AddFile("more.bin", std::nullopt);
  like.AddTensor("w", {3}, {{{{0}, {1}}, other}, {{{1}, {1}}, one}, {{{2}, {1}}, last}});
  const RankLayout layout = Value(AssignLike(like.Entries(), like.catalog()));
  EXPECT_THAT(Pieces(layout), ElementsAre("0@2 [0:1]", "0@1 [1:2]", "0@3 [2:3]"));
  EXPECT_EQ(layout.ranks.size(), 4u);
}

TEST(AssignLike, ListsTheDifferencesOfBothSides) {
  Like like;
  const uint32_t file = like.AddFile("__0_0.distcp", 0);
  like.AddTensor("same", {1}, {{{{0}, {1}}, file}});
  like.AddTensor("shape", {2, 3}, {{{{0, 0}, {2, 3}}, file}});
  like.AddObject("kind", file);
  like.AddTensor("gone", {1}, {{{{0}, {1}}, file}});
  Like source;
  source.AddTensor("same", {1}, {});
  source.AddTensor("shape", {3, 2}, {});
  source.AddTensor("kind", {1}, {});
  for (int i = 0; i < 7; ++i) source.AddObject("new." + std::to_string(i), 0);
  const Error error = ErrorOf(AssignLike(source.Entries(), like.catalog()));
  EXPECT_EQ(error.kind(), ErrorKind::kMismatch);
  EXPECT_EQ(error.place().file, "/other");
  EXPECT_EQ(error.Text(),
            "its layout does not fit, expected the same keys and shapes: 7 keys are only in the source (\"new.0\", "
            "\"new.1\", \"new.2\", \"new.3\", \"new.4\", ...); 1 key is only there (\"gone\"); 2 entries differ "
            "(\"shape\": [3, 2] in the source, [2, 3] there, \"kind\": a tensor in the source, an object there)");
}

TEST(AssignLike, MayIgnoreWhatOnlyTheOtherHas) {
  Like like;
  const uint32_t file = like.AddFile("__0_0.distcp", 0);
  like.AddTensor("a", {1}, {{{{0}, {1}}, file}});
  like.AddTensor("b", {1}, {{{{0}, {1}}, file}});
  std::vector<LayoutEntry> entries = like.Entries();
  entries.pop_back();
  EXPECT_EQ(ErrorOf(AssignLike(entries, like.catalog())).kind(), ErrorKind::kMismatch);
  EXPECT_EQ(Value(AssignLike(entries, like.catalog(), ExtraKeys::kIgnore)).pieces.size(), 1u);
}

TEST(AssignLike, RefusesBoxesThatDoNotTile) {
  const auto error = [](const std::vector<Box>& boxes) {
    Like like;
    const uint32_t file = like.AddFile("__0_0.distcp", 0);
    std::vector<std::pair<Box, uint32_t>> chunks;
    for (const Box& box : boxes) chunks.emplace_back(box, file);
    like.AddTensor("w", {4}, chunks);
    Error found = ErrorOf(AssignLike(like.Entries(), like.catalog()));
    EXPECT_EQ(found.kind(), ErrorKind::kCorrupt);
    EXPECT_THAT(found.Text(), HasSubstr("entry \"w\""));
    return found.Text();
  };
  EXPECT_THAT(error({{{0}, {3}}}), HasSubstr("no chunk for [3:4], expected chunks that tile [4]"));
  EXPECT_THAT(error({{{0}, {3}}, {{2}, {2}}}), HasSubstr("chunks [0:3] and [2:4] that overlap"));
  EXPECT_THAT(error({{{0}, {5}}}), HasSubstr("chunk [0:5] outside"));
  EXPECT_THAT(error({}), HasSubstr("no chunk for [0:4]"));
}

TEST(AssignLike, RefusesWhatLiesInNoFile) {
  Like like;
  like.AddTensor("w", {1}, {{{{0}, {1}}, kNoFile}});
  EXPECT_EQ(ErrorOf(AssignLike(like.Entries(), like.catalog())).kind(), ErrorKind::kCorrupt);
  Like object;
  object.AddObject("o", kNoFile);
  EXPECT_EQ(ErrorOf(AssignLike(object.Entries(), object.catalog())).kind(), ErrorKind::kCorrupt);
}

TEST(AssignLike, KeepsToTheLimits) {
  Like like;
  const uint32_t file = like.AddFile("__18446744073709551615_0.distcp", UINT64_MAX);
  like.AddTensor("w", {2}, {{{{0}, {1}}, file}, {{{1}, {1}}, file}});
  const Error error = ErrorOf(AssignLike(like.Entries(), like.catalog()));
  EXPECT_EQ(error.kind(), ErrorKind::kLimit);
  EXPECT_THAT(error.Text(), AllOf(HasSubstr("rank 18446744073709551615"), HasSubstr("1000000 ranks at most")));
  like.catalog().files[0].rank = 0;
  EXPECT_EQ(ErrorOf(AssignLike(like.Entries(), like.catalog(), ExtraKeys::kRefuse, {.boxes = 1})).kind(),
            ErrorKind::kLimit);
}

}  // namespace
}  // namespace dcpctl
