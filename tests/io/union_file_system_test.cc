#include "io/union_file_system.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/memory_file_system.h"
#include "support/memory_of_device.h"
#include "support/result.h"

namespace dcpctl::io {
namespace {

using test::BytesOf;
using test::ErrorOf;
using test::MemoryFileSystem;
using test::ReadAll;
using test::Value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Two processes: this one sees "a" and "both", the other "both" and "sub/b".
class Union : public ::testing::Test {
 protected:
  Union() {
    here_.Put("/ckpt/a", "of this one");
    here_.Put("/ckpt/both", "of both");
    here_.Put("/other", "elsewhere");
    const std::vector<SeenFile> mine = Value(ListSeen(here_, "/ckpt"));
    std::vector<SeenFile> theirs = {{.name = "sub/b", .bytes = 10, .mtime_ns = 5}};
    for (const SeenFile& file : mine) {
      if (file.name == "both") theirs.push_back(file);
    }
    listing_ = Value(JoinSeen("/ckpt", {mine, Value(DecodeSeen(EncodeSeen(theirs)))}, 0));
    files_ = NewUnionFileSystem(
        here_, "/ckpt", listing_,
        [this](unsigned owner, const std::string& name, uint64_t offset, std::span<std::byte> out) -> Result<void> {
          asked_.push_back(std::to_string(owner) + " " + name + " " + std::to_string(offset) + " " +
                           std::to_string(out.size()));
          const auto bytes = BytesOf("0123456789").subspan(offset, out.size());
          std::copy(bytes.begin(), bytes.end(), out.begin());
          return {};
        });
  }

  static std::vector<std::string> Names(const std::vector<DirectoryEntry>& entries) {
    std::vector<std::string> names;
    for (const DirectoryEntry& entry : entries)
      names.push_back(entry.name + (entry.type == FileType::kDirectory ? "/" : ""));
    return names;
  }

  MemoryFileSystem here_;
  UnionListing listing_;
  std::unique_ptr<FileSystem> files_;
  std::vector<std::string> asked_;
};

TEST_F(Union, ListsWhatAllSee) {
  EXPECT_THAT(Names(Value(files_->ListDirectory("/ckpt", {}))), ElementsAre("a", "both", "sub/"));
  EXPECT_THAT(Names(Value(files_->ListDirectory("/ckpt/", {.recursive = true}))),
              ElementsAre("a", "both", "sub/", "sub/b"));
  EXPECT_THAT(Names(Value(files_->ListDirectory("/ckpt/sub", {}))), ElementsAre("b"));
  EXPECT_THAT(Names(Value(files_->ListDirectory("/", {}))), ElementsAre("ckpt/", "other"));
}

TEST_F(Union, ReadsHereWhatIsHere) {
  EXPECT_EQ(ReadAll(*Value(files_->OpenBeneath("/ckpt", "a"))), "of this one");
  EXPECT_EQ(ReadAll(*Value(files_->OpenRead("/ckpt/both"))), "of both");
  EXPECT_EQ(ReadAll(*Value(files_->OpenRead("/other"))), "elsewhere");
  EXPECT_EQ(Value(files_->Stat("/ckpt/a")).bytes, 11U);
  EXPECT_THAT(asked_, ElementsAre());
}

TEST_F(Union, AsksForWhatIsElsewhere) {
  const auto file = Value(files_->OpenBeneath("/ckpt", "sub/b"));
  EXPECT_EQ(file->name(), "/ckpt/sub/b");
  EXPECT_EQ(file->info().mtime_ns, 5);
  EXPECT_EQ(ReadAll(*file), "0123456789");
  std::array<std::byte, 3> bytes{};
  Value(file->ReadAt(4, bytes));
  EXPECT_EQ(test::TextOf(bytes), "456");
  EXPECT_EQ(ErrorOf(file->ReadAt(8, bytes)).kind(), ErrorKind::kCorrupt);
  Value(file->CheckUnchanged());
  EXPECT_THAT(asked_, ElementsAre("1 sub/b 0 10", "1 sub/b 4 3", "1 sub/b 0 0"));
  EXPECT_EQ(Value(files_->Stat("/ckpt/sub/b")).bytes, 10U);
}

TEST_F(Union, LandsWhatIsElsewhere) {
  const auto memory = std::make_shared<test::MemoryOfDevice>(3);
  const DevicePart part{.memory = memory, .begin = 1, .bytes = 2};
  EXPECT_EQ(Value(Value(files_->OpenBeneath("/ckpt", "sub/b"))->LandAt(4, part)), std::nullopt);
  const auto files = NewUnionFileSystem(
      here_, "/ckpt", listing_, [](auto&&...) { return Result<void>(); },
      [&](unsigned owner, const std::string& name, uint64_t offset,
          const DevicePart& to) -> Result<std::optional<uint32_t>> {
        asked_.push_back(std::to_string(owner) + " " + name + " " + std::to_string(offset) + " " +
                         std::to_string(to.bytes));
        return 7;
      });
  const auto file = Value(files->OpenBeneath("/ckpt", "sub/b"));
  EXPECT_EQ(Value(file->LandAt(4, part)), 7U);
  EXPECT_EQ(ErrorOf(file->LandAt(9, part)).kind(), ErrorKind::kCorrupt);
  EXPECT_EQ(Value(Value(files->OpenBeneath("/ckpt", "a"))->LandAt(0, part)), std::nullopt);
  EXPECT_THAT(asked_, ElementsAre("1 sub/b 4 2"));
}

TEST_F(Union, MissesWhatNobodySees) {
  EXPECT_EQ(ErrorOf(files_->OpenBeneath("/ckpt", "none")).kind(), ErrorKind::kNotFound);
  // Names that are refused of a file here are of one elsewhere.
  EXPECT_EQ(ErrorOf(files_->OpenBeneath("/ckpt", "a/../sub/b")).kind(), ErrorKind::kCorrupt);
  EXPECT_EQ(ErrorOf(files_->Stat("/ckpt/none")).kind(), ErrorKind::kNotFound);
}

TEST_F(Union, IsAFolderWhereOnlyOthersHaveIt) {
  MemoryFileSystem empty;
  const auto files = NewUnionFileSystem(empty, "/ckpt", listing_, [](auto&&...) { return Result<void>(); });
  EXPECT_EQ(Value(files->Stat("/ckpt")).type, FileType::kDirectory);
  EXPECT_THAT(Names(Value(files->ListDirectory("/ckpt", {}))), ElementsAre("a", "both", "sub/"));
  EXPECT_THAT(Value(ListSeen(empty, "/ckpt")), ::testing::IsEmpty());
}

TEST(JoinSeen, RefusesOneNameForTwoSizes) {
  const Error error = ErrorOf(JoinSeen("/ckpt", {{}, {{.name = "x", .bytes = 1}}, {{.name = "x", .bytes = 2}}}, 0));
  EXPECT_EQ(error.kind(), ErrorKind::kMismatch);
  EXPECT_THAT(error.ToString(), HasSubstr("/ckpt/x: error: has 2 bytes where process 2 sees it, expected the 1 that "
                                          "process 1 sees"));
}

TEST(JoinSeen, TakesACopyWithAnotherTimeForAnotherFile) {
  const std::vector<std::vector<SeenFile>> all = {{{.name = "x", .bytes = 1, .mtime_ns = 1}},
                                                  {{.name = "x", .bytes = 1, .mtime_ns = 2}}};
  EXPECT_TRUE(Value(JoinSeen("/ckpt", all, 0)).at("x").here);
  EXPECT_FALSE(Value(JoinSeen("/ckpt", all, 1)).at("x").here);
  EXPECT_EQ(Value(JoinSeen("/ckpt", all, 1)).at("x").owner, 0U);
}

}  // namespace
}  // namespace dcpctl::io
