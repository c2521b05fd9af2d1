// Resharding by several processes that are threads, on one file system in memory.
#include "ops/reshard_together.h"

#include <gmock/gmock.h>

#include <array>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "dcp/sample_checkpoint.h"
#include "ops/to_dcp.h"
#include "support/memory_file_system.h"
#include "support/memory_network.h"
#include "support/result.h"

namespace dcpctl::ops {
namespace {

using namespace std::chrono_literals;
using test::ErrorOf;
using test::MemoryFileSystem;
using test::MemoryNetwork;
using test::Value;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr ranks::CrewTiming kTiming{
    .courier = {.beat = 50ms, .silence = 5'000ms, .close = 2'000ms}, .grace = 2'000ms, .signal_grace = 500ms};

class TogetherTest : public testing::Test {
 protected:
  void SetUp() override {
    dcp::SampleCheckpoint sample;
    sample.AddTensor("w", {"w"}, {30, 16}, 0,
                     {{.offsets = {0, 0}, .sizes = {17, 16}},
                      {.offsets = {17, 0}, .sizes = {13, 16}, .file = "__1_0.distcp", .zstd = true}});
    sample.AddTensor("v", {"v"}, {64}, 1000, {{.offsets = {0}, .sizes = {64}, .file = "__1_0.distcp"}});
    sample.AddInt("step", {"step"}, 7);
    source_ = sample.Finish();
    for (const auto& [name, bytes] : source_) files_.Put("/ckpt/" + name, bytes);
    files_.PutDirectory("/out");
    options_.layout.world_size = 5;
    options_.run.jobs = 1;
  }

  // What each process ends with; the files are the same for all, but for those in `own`.
  std::vector<Result<ConvertReport>> Reshard(unsigned size, std::map<unsigned, MemoryFileSystem*> own = {}) {
    std::vector<Result<ConvertReport>> ends(size, Fail(ErrorKind::kInternal, "did not end"));
    std::vector<std::jthread> threads;
    for (unsigned rank = 0; rank < size; ++rank) {
      threads.emplace_back([&, rank] {
        const auto crew = Value(ranks::Crew::Join(network_.at(size)->Endpoint(rank), {}, kTiming));
        io::FileSystem& files = own.contains(rank) ? *own[rank] : files_;
        const ConvertOptions& options = other_options_.contains(rank) ? other_options_.at(rank) : options_;
        ends[rank] = ReshardTogether(*crew, files, "/ckpt", "/out/new", options);
        crew->Leave(3);
      });
    }
    threads.clear();
    return ends;
  }

  std::map<std::string, std::string> Made(const std::string& folder) {
    std::map<std::string, std::string> made;
    for (const std::string& path : files_.Paths()) {
      if (path.starts_with(folder + "/")) made[path.substr(folder.size())] = *files_.Contents(path);
    }
    return made;
  }

  void Clear(const std::string& folder) {
    for (const auto& [name, bytes] : Made(folder)) Value(files_.RemoveFile(folder + name));
    Value(files_.RemoveDirectory(folder));
  }

  MemoryFileSystem files_;
  std::map<std::string, std::string> source_;
  ConvertOptions options_;
  std::map<unsigned, ConvertOptions> other_options_;  // by rank
  std::map<unsigned, std::unique_ptr<MemoryNetwork>> network_ = [] {
    std::map<unsigned, std::unique_ptr<MemoryNetwork>> networks;
    for (const unsigned size : {1U, 2U, 3U, 7U}) networks[size] = std::make_unique<MemoryNetwork>(size);
    return networks;
  }();
};

TEST_F(TogetherTest, MakesTheSameBytesForAnyNumberOfProcesses) {
  const ConvertReport alone = Value(ToDcp(files_, "/ckpt", "/out/alone", options_));
  const auto expected = Made("/out/alone");
  ASSERT_EQ(expected.size(), 6U);
  for (const unsigned size : {1U, 2U, 3U, 7U}) {
    const auto ends = Reshard(size);
    for (const auto& end : ends) ASSERT_TRUE(end) << end.error().ToString();
    EXPECT_TRUE(ends[0]->written);
    EXPECT_EQ(ends[0]->plan.bytes_written, alone.plan.bytes_written);
    EXPECT_GE(ends[0]->plan.bytes_read, alone.plan.bytes_read);
    EXPECT_EQ(ends[0]->tensors, 2U);
    EXPECT_EQ(Made("/out/new"), expected) << size;
    Clear("/out/new");
  }
}

// What is left when one process was killed is no checkpoint.
TEST_F(TogetherTest, GivesMetadataItsNameLast) {
  for (const bool compresses : {false, true}) {
    if (compresses) options_.zstd_level = 1;
    files_.SetFaults({});
    for (const auto& end : Reshard(3)) Value(end);
    std::vector<std::string> named;
    for (const std::string& call : files_.calls()) {
      if (call.starts_with("rename ")) named.push_back(call.substr(call.rfind('/') + 1));
    }
    ASSERT_EQ(named.size(), 7U) << "five ranks, metadata, and all";
    EXPECT_EQ(named[5], ".metadata");
    Clear("/out/new");
  }
}

TEST_F(TogetherTest, CompressesToTheSameBytes) {
  options_.zstd_level = 1;
  const ConvertReport alone = Value(ToDcp(files_, "/ckpt", "/out/alone", options_));
  const auto expected = Made("/out/alone");
  ASSERT_EQ(expected.size(), 6U);
  for (const unsigned size : {1U, 2U, 3U, 7U}) {
    const auto ends = Reshard(size);
    for (const auto& end : ends) ASSERT_TRUE(end) << end.error().ToString();
    EXPECT_EQ(ends[0]->plan.bytes_written, alone.plan.bytes_written);
    EXPECT_EQ(Made("/out/new"), expected) << size;
    Clear("/out/new");
  }
}

TEST_F(TogetherTest, RefusesProcessesWithOtherArguments) {
  other_options_[1] = options_;
  other_options_[1].run.exchange = true;
  for (const auto& end : Reshard(3)) {
    EXPECT_EQ(ErrorOf(end).kind(), ErrorKind::kMismatch);
    EXPECT_THAT(ErrorOf(end).ToString(),
                HasSubstr("arguments differ from those of the first process (process 1 of 3)"));
  }
  EXPECT_THAT(Made("/out"), IsEmpty());
}

TEST_F(TogetherTest, PlansWithoutWriting) {
  options_.run.dry_run = true;
  files_.SetFaults({});
  for (const auto& end : Reshard(3)) EXPECT_FALSE(Value(end).written);
  for (const std::string& call : files_.calls()) {
    for (const char* const writes : {"create", "mkdir", "write", "rename"})
      EXPECT_FALSE(call.starts_with(writes)) << call;
  }
}

TEST_F(TogetherTest, EndsAlikeWhenASourceIsDamaged) {
  std::string damaged = source_["__1_0.distcp"];
  damaged[damaged.size() / 2] ^= 1;
  for (size_t at = damaged.size() - 900; at < damaged.size() - 800; ++at) damaged[at] ^= 1;
  files_.Put("/ckpt/__1_0.distcp", damaged);
  for (const unsigned size : {1U, 2U, 3U, 7U}) {
    const auto ends = Reshard(size);
    for (const auto& end : ends) EXPECT_EQ(ErrorOf(end).ToString(), ErrorOf(ends[0]).ToString());
    EXPECT_EQ(ErrorOf(ends[0]).kind(), ErrorKind::kCorrupt);
    EXPECT_THAT(ErrorOf(ends[0]).ToString(), HasSubstr("/ckpt/__1_0.distcp:0x"));
    EXPECT_THAT(Made("/out"), IsEmpty());
    EXPECT_EQ(network_.at(size)->aborted(), 0);
  }
}

TEST_F(TogetherTest, NamesTheProcessThatLacksAFile) {
  MemoryFileSystem other;
  other.PutDirectory("/out");
  for (const auto& end : Reshard(2, {{1, &other}})) {
    EXPECT_THAT(ErrorOf(end).ToString(), HasSubstr("is not there for this process, though the first one made it"));
    EXPECT_THAT(ErrorOf(end).ToString(), HasSubstr("(process 1 of 2)"));
  }
  EXPECT_THAT(Made("/out"), IsEmpty());
}

// Nodes with disks of their own: each file is on one of them, and the result stays where it is made.
TEST_F(TogetherTest, ExchangesFilesBetweenDisks) {
  Value(ToDcp(files_, "/ckpt", "/out/alone", options_));
  const auto expected = Made("/out/alone");
  options_.run.exchange = true;
  for (const bool leader_has_data : {false, true}) {
    for (const unsigned size : {2U, 3U}) {
      std::vector<std::unique_ptr<MemoryFileSystem>> disks;
      std::map<unsigned, MemoryFileSystem*> own;
      for (unsigned rank = 0; rank < size; ++rank) {
        disks.push_back(std::make_unique<MemoryFileSystem>());
        disks.back()->PutDirectory("/out");
        own[rank] = disks.back().get();
      }
      own[0]->Put("/ckpt/.metadata", source_[".metadata"]);
      own[leader_has_data ? 0 : 1]->Put("/ckpt/__0_0.distcp", source_["__0_0.distcp"]);
      own[size - 1]->Put("/ckpt/__1_0.distcp", source_["__1_0.distcp"]);
      for (const auto& end : Reshard(size, own)) ASSERT_TRUE(end) << end.error().ToString();
      std::map<std::string, std::string> made;
      for (const auto& disk : disks) {
        for (const std::string& path : disk->Paths()) {
          if (path.starts_with("/ckpt/")) continue;
          EXPECT_TRUE(made.emplace(path.substr(std::string("/out/new").size()), *disk->Contents(path)).second) << path;
        }
      }
      EXPECT_EQ(made, expected);
      EXPECT_TRUE(own[0]->Contents("/out/new/.metadata"));
    }
  }
}

// With an old checkpoint in the way, one file of which cannot be removed.
class StuckDisk : public MemoryFileSystem {
 public:
  explicit StuckDisk(const std::string& old) {
    Put("/out/new/.metadata", old);
    Put("/out/new/__9_0.distcp", old);
  }
  Result<void> RemoveFile(const std::filesystem::path& path) override {
    if (path.filename() == "__9_0.distcp") return Fail(ErrorKind::kIo, "cannot remove: stuck");
    return MemoryFileSystem::RemoveFile(path);
  }
};

TEST_F(TogetherTest, TellsWhatItReplacedAndCannotRemoveOnAnyDisk) {
  options_.run.exchange = true;
  options_.run.force = true;
  std::vector<std::unique_ptr<StuckDisk>> disks;
  std::map<unsigned, MemoryFileSystem*> own;
  for (unsigned rank = 0; rank < 3; ++rank) {
    disks.push_back(std::make_unique<StuckDisk>(source_[".metadata"]));
    own[rank] = disks.back().get();
  }
  for (const auto& [name, bytes] : source_) own[0]->Put("/ckpt/" + name, bytes);
  const auto ends = Reshard(3, own);
  for (const auto& end : ends) ASSERT_TRUE(end) << end.error().ToString();
  std::vector<std::string> messages;
  for (const Finding& finding : ends[0]->plan.findings) {
    EXPECT_EQ(finding.id, "convert.replaced-left");
    EXPECT_EQ(finding.severity, Severity::kWarning);
    messages.push_back(finding.message);
    for (const auto& disk : disks) EXPECT_TRUE(disk->Contents(finding.file + "/__9_0.distcp")) << finding.file;
  }
  const std::string said = "was replaced, and is still there: cannot remove: stuck";
  EXPECT_THAT(messages, UnorderedElementsAre(said, said + " (disk of process 1)", said + " (disk of process 2)"));
}

TEST_F(TogetherTest, PublishesOnNoDiskWhenOneHasTheTargetAlready) {
  options_.run.exchange = true;
  MemoryFileSystem other;
  other.Put("/out/new/file", "old");
  for (const auto& end : Reshard(2, {{1, &other}})) EXPECT_EQ(ErrorOf(end).kind(), ErrorKind::kExists);
  EXPECT_THAT(Made("/out"), IsEmpty());
  EXPECT_EQ(other.Paths(), std::vector<std::string>{"/out/new/file"});
}

TEST_F(TogetherTest, MissesAFileThatNobodySees) {
  options_.run.exchange = true;
  Value(files_.RemoveFile("/ckpt/__1_0.distcp"));
  for (const auto& end : Reshard(3)) EXPECT_THAT(ErrorOf(end).ToString(), HasSubstr("__1_0.distcp"));
  EXPECT_THAT(Made("/out"), IsEmpty());
}

TEST_F(TogetherTest, RefusesFilesOfOneNameThatDiffer) {
  options_.run.exchange = true;
  MemoryFileSystem other;
  other.PutDirectory("/out");
  other.Put("/ckpt/__1_0.distcp", "short");
  for (const auto& end : Reshard(2, {{1, &other}})) {
    EXPECT_EQ(ErrorOf(end).kind(), ErrorKind::kMismatch);
    EXPECT_THAT(ErrorOf(end).ToString(), HasSubstr("/ckpt/__1_0.distcp: error: has 5 bytes where process 1 sees it"));
  }
}

TEST_F(TogetherTest, NoticesAFileThatChangesOnAnotherDisk) {
  options_.run.exchange = true;
  MemoryFileSystem other;
  other.PutDirectory("/out");
  other.Put("/ckpt/__1_0.distcp", source_["__1_0.distcp"]);
  Value(files_.RemoveFile("/ckpt/__1_0.distcp"));
  // Where it is written, all has been looked at.
  other.SetFaults({.on_call = [&](uint64_t, std::string_view what) {
    if (what.starts_with("create"))
      other.Overwrite("/ckpt/__1_0.distcp", std::string(source_["__1_0.distcp"].size(), 'x'));
  }});
  for (const auto& end : Reshard(2, {{1, &other}})) {
    ASSERT_FALSE(end);
    EXPECT_THAT(ErrorOf(end).ToString(), HasSubstr("__1_0.distcp"));
    EXPECT_THAT(ErrorOf(end).ToString(), HasSubstr("chang"));
  }
  EXPECT_THAT(Made("/out"), IsEmpty());
}

TEST_F(TogetherTest, EndsAlikeWhenTheTargetExists) {
  files_.Put("/out/new/.metadata", "old");
  for (const auto& end : Reshard(3)) EXPECT_EQ(ErrorOf(end).kind(), ErrorKind::kExists);
  EXPECT_EQ(files_.Contents("/out/new/.metadata"), "old");
}

TEST_F(TogetherTest, LeavesNothingWhateverCallFails) {
  files_.SetFaults({});
  for (const auto& end : Reshard(2)) ASSERT_TRUE(end) << end.error().ToString();
  const size_t calls = files_.calls().size();
  ASSERT_GT(calls, 20U);
  const auto complete = Made("/out/new");
  for (size_t call = 0; call < calls; ++call) {
    MemoryFileSystem fresh;
    for (const auto& [name, bytes] : source_) fresh.Put("/ckpt/" + name, bytes);
    fresh.PutDirectory("/out");
    fresh.SetFaults({.fail_call = call});
    const auto ends = Reshard(2, {{0, &fresh}, {1, &fresh}});
    EXPECT_EQ(ends[0].has_value(), ends[1].has_value()) << call;
    for (const std::string& path : fresh.Paths()) {
      if (ends[0] || path.starts_with("/ckpt/") || path.starts_with("/out/new/")) continue;
      // What cannot be removed stays, and nothing else.
      EXPECT_THAT(fresh.calls()[call], testing::AnyOf(testing::StartsWith("remove"), testing::StartsWith("list")))
          << path;
    }
  }
}

}  // namespace
}  // namespace dcpctl::ops
