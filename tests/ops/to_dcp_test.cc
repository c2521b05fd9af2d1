#include "ops/to_dcp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "dcp/sample_checkpoint.h"
#include "dcpctl/survey.h"
#include "fixtures/conversion.h"
#include "support/memory_file_system.h"
#include "support/result.h"
#include "support/temp_directory.h"
#include "torch/sample_archive.h"

namespace dcpctl::ops {
namespace {

namespace fs = std::filesystem;
using test::ErrorOf;
using test::MemoryFileSystem;
using test::Value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Names = std::set<std::string>;

const fs::path kReal = fs::path(DCPCTL_TESTDATA_DIR) / "torch-2.13.0";

// {"model": {"w": [3], "b": [2]}, "step": 7, "lr": [0.5]}, with both tensors in one storage.
std::string SampleFile() {
  pickle::Document d;
  const pickle::Value model = d.Dict();
  d.SetItem(model, d.String("w"), torch::MakeSample(d, {.items = 5, .shape = {3}, .strides = {1}}));
  d.SetItem(model, d.String("b"), torch::MakeSample(d, {.items = 5, .offset = 3, .shape = {2}, .strides = {1}}));
  const pickle::Value rates = d.List();
  d.Append(rates, d.Float(0.5));
  const pickle::Value root = d.Dict();
  d.SetItem(root, d.String("model"), model);
  d.SetItem(root, d.String("step"), d.Int(7));
  d.SetItem(root, d.String("lr"), rates);
  return torch::SaveTorch(root, {dcp::Floats(5, 1)});
}

// Rank of the file, and box, of each chunk; and of objects.
std::vector<std::string> Parts(const Catalog& catalog) {
  std::vector<std::string> out;
  for (const EntryRef entry : catalog.entries) {
    const auto rank_of = [&](uint32_t file) {
      return catalog.files[file].rank ? std::to_string(*catalog.files[file].rank) : std::string("none");
    };
    if (!entry.is_tensor) {
      out.push_back(std::string(catalog.KeyOf(entry)) + " object of rank " +
                    rank_of(catalog.objects[entry.index].file));
      continue;
    }
    const Tensor& tensor = catalog.tensors[entry.index];
    for (const Chunk& chunk : catalog.ChunksOf(tensor))
      out.push_back(std::string(tensor.key) + " " + ToString(catalog.BoxOf(tensor, chunk)) + " of rank " +
                    rank_of(chunk.file));
  }
  return out;
}

class ToDcpTest : public testing::Test {
 protected:
  void PutSample() { folder_.Put("in.pt", SampleFile()); }
  Result<ConvertReport> Convert(const ConvertOptions& options = {}) { return ConvertFrom(folder_ / "in.pt", options); }
  Result<ConvertReport> ConvertFrom(const fs::path& source, const ConvertOptions& options = {}) {
    return ToDcp(*files_, source, target(), options);
  }
  fs::path target() const { return folder_ / "ckpt"; }
  // Bytes of each file of the result.
  std::map<std::string, std::string> Written() const {
    std::map<std::string, std::string> out;
    for (const auto& entry : fs::directory_iterator(target()))
      out[entry.path().filename()] = folder_.Contents("ckpt/" + entry.path().filename().string());
    return out;
  }
  Names ResultNames() const {
    Names names;
    for (const auto& [name, bytes] : Written()) names.insert(name);
    return names;
  }

  test::TempDirectory folder_;
  std::unique_ptr<io::FileSystem> files_ = io::NewPosixFileSystem();
};

TEST_F(ToDcpTest, WritesOneRankAsPyTorchsConverterDoes) {
  PutSample();
  const ConvertReport report = Value(Convert());
  EXPECT_EQ(ResultNames(), (Names{".metadata", "__0_0.distcp"}));
  EXPECT_TRUE(report.written);
  EXPECT_EQ(report.tensors, 2U);
  EXPECT_EQ(report.objects, 2U);
  EXPECT_EQ(report.tensor_bytes, 20U);
  uint64_t bytes = 0;
  for (const auto& [name, contents] : Written()) bytes += contents.size();
  EXPECT_EQ(report.plan.bytes_written, bytes);
  const Catalog catalog = Value(Survey(target()));
  EXPECT_EQ(catalog.format, Format::kDcp);
  EXPECT_THAT(catalog.findings, IsEmpty());
  EXPECT_THAT(Parts(catalog), ElementsAre("model.w [0:3] of rank 0", "model.b [0:2] of rank 0", "step object of rank 0",
                                          "lr object of rank 0"));
  EXPECT_EQ(catalog.KeyPathOf(catalog.tensors[0]), (KeyPath{"model", "w"}));
  for (const Chunk& chunk : catalog.chunks) EXPECT_EQ(chunk.stored.offset % 4096, 0U);
}

TEST_F(ToDcpTest, GivesEqualBytesWithAnyNumberOfJobs) {
  PutSample();
  Value(Convert({.run = {.jobs = 1}}));
  const auto bytes = Written();
  for (const unsigned jobs : {2U, 4U}) {
    for (const uint64_t memory : {uint64_t{4} << 20, uint64_t{256} << 20}) {
      Value(Convert({.run = {.jobs = jobs, .memory_bytes = memory, .force = true}}));
      EXPECT_EQ(Written(), bytes) << jobs << " jobs, " << memory << " bytes";
    }
  }
}

// What is in them and where: of a checkpoint whose items lie elsewhere in their files.
std::vector<std::string> Contents(const fs::path& source) {
  const Catalog catalog = Value(Survey(source));
  EXPECT_THAT(catalog.findings, IsEmpty());
  std::vector<std::string> out = Parts(catalog);
  for (const Chunk& chunk : catalog.chunks) out.push_back(std::to_string(chunk.stored.crc));
  return out;
}

TEST_F(ToDcpTest, CompressesEachItem) {
  PutSample();
  Value(Convert({.layout = {.world_size = 2}}));
  const std::vector<std::string> expected = Contents(target());
  const ConvertReport report =
      Value(Convert({.run = {.force = true}, .layout = {.world_size = 2}, .zstd_level = kDefaultZstdLevel}));
  EXPECT_EQ(Contents(target()), expected);
  for (const Chunk& chunk : Value(Survey(target())).chunks) EXPECT_EQ(chunk.stored.codec, Codec::kZstd);
  uint64_t bytes = 0;
  for (const auto& [name, contents] : Written()) bytes += contents.size();
  EXPECT_EQ(report.plan.bytes_written, bytes);
  EXPECT_THAT(ResultNames(), ElementsAre(".metadata", "__0_0.distcp", "__1_0.distcp"));
}

TEST_F(ToDcpTest, CompressesToTheSameBytesWithAnyNumberOfJobs) {
  PutSample();
  Value(Convert({.run = {.jobs = 1}, .layout = {.world_size = 2}, .zstd_level = 5}));
  const auto bytes = Written();
  for (const unsigned jobs : {2U, 4U}) {
    Value(Convert({.run = {.jobs = jobs, .memory_bytes = uint64_t{16} << 20, .force = true},
                   .layout = {.world_size = 2},
                   .zstd_level = 5}));
    EXPECT_EQ(Written(), bytes) << jobs << " jobs";
  }
}

TEST_F(ToDcpTest, RefusesToCompressForAPyTorchThatCannotReadIt) {
  PutSample();
  EXPECT_THAT(ErrorOf(Convert({.compat = "2.6", .zstd_level = 3})).Text(),
              HasSubstr("PyTorch 2.6 reads no compressed items, expected 2.7 or newer for --zstd"));
  EXPECT_TRUE(Convert({.compat = "2.7", .zstd_level = 3}));
}

TEST_F(ToDcpTest, FlattensAsTheVersionDoes) {
  PutSample();
  const std::pair<const char*, std::vector<std::string>> cases[] = {
      {"", {"model.w", "model.b", "step", "lr"}},
      {"2.4", {"model.w", "model.b", "step", "lr"}},
      {"2.0", {"model.w", "model.b", "step", "lr"}},
      {"1.13", {"model", "step", "lr"}},
  };
  for (const auto& [version, expected] : cases) {
    SCOPED_TRACE(version);
    Value(Convert({.run = {.force = true}, .compat = version}));
    const Catalog catalog = Value(Survey(target()));
    std::vector<std::string> keys;
    for (const EntryRef entry : catalog.entries) keys.emplace_back(catalog.KeyOf(entry));
    EXPECT_EQ(keys, expected);
    EXPECT_EQ(catalog.nested, version != std::string("1.13"));
  }
}

TEST_F(ToDcpTest, WritesWhatIsSelected) {
  PutSample();
  Value(Convert({.selection = {.select = {"model"}, .exclude = {"model.b"}, .strip_prefix = "model"}}));
  EXPECT_THAT(Parts(Value(Survey(target()))), ElementsAre("w [0:3] of rank 0"));
}

TEST_F(ToDcpTest, WritesNothingOnADryRun) {
  PutSample();
  const ConvertReport report = Value(Convert({.run = {.dry_run = true}}));
  EXPECT_FALSE(report.written);
  EXPECT_EQ(report.tensors, 2U);
  EXPECT_EQ(folder_.Names(), Names{"in.pt"});
}

TEST_F(ToDcpTest, RefusesKeysThatBecomeOne) {
  pickle::Document d;
  const pickle::Value inner = d.Dict();
  d.SetItem(inner, d.String("b"), d.Int(1));
  const pickle::Value root = d.Dict();
  d.SetItem(root, d.String("a"), inner);
  d.SetItem(root, d.String("a.b"), d.Int(2));
  folder_.Put("in.pt", torch::SaveTorch(root, {}));
  const Error error = ErrorOf(Convert());
  EXPECT_THAT(error.ToString(), HasSubstr("a.b"));
  EXPECT_EQ(folder_.Names(), Names{"in.pt"});
}

TEST_F(ToDcpTest, RefusesEntriesThatGetOneKey) {
  pickle::Document d;
  const pickle::Value inner = d.Dict();
  d.SetItem(inner, d.String("b"), d.Int(1));
  const pickle::Value root = d.Dict();
  d.SetItem(root, d.String("a"), inner);
  d.SetItem(root, d.String("b"), d.Int(2));
  folder_.Put("in.pt", torch::SaveTorch(root, {}));
  const Error error = ErrorOf(Convert({.selection = {.strip_prefix = "a"}}));
  EXPECT_EQ(error.kind(), ErrorKind::kMismatch);
  EXPECT_THAT(error.message(), HasSubstr("\"a.b\""));
  EXPECT_THAT(error.message(), HasSubstr("\"b\""));
  EXPECT_EQ(folder_.Names(), Names{"in.pt"});
}

TEST_F(ToDcpTest, RefusesOldVersions) {
  PutSample();
  EXPECT_EQ(ErrorOf(Convert({.compat = "1.12"})).kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(ErrorOf(Convert({.compat = "new"})).kind(), ErrorKind::kUsage);
  EXPECT_EQ(folder_.Names(), Names{"in.pt"});
}

TEST_F(ToDcpTest, ReplacesAnOldCheckpointOnlyWhenForced) {
  PutSample();
  folder_.Put("ckpt/.metadata", "old");
  folder_.Put("ckpt/__3_0.distcp", "old");
  EXPECT_EQ(ErrorOf(Convert()).kind(), ErrorKind::kExists);
  EXPECT_EQ(folder_.Contents("ckpt/.metadata"), "old");
  Value(Convert({.run = {.force = true}}));
  EXPECT_EQ(ResultNames(), (Names{".metadata", "__0_0.distcp"}));
  EXPECT_EQ(folder_.Names(), (Names{"ckpt", "in.pt"}));
}

TEST_F(ToDcpTest, StopsWhenAsked) {
  PutSample();
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(ErrorOf(Convert({.run = {.stop = stop.get_token()}})).kind(), ErrorKind::kCancelled);
  EXPECT_EQ(folder_.Names(), Names{"in.pt"});
}

// --- DCP to DCP ---

TEST_F(ToDcpTest, KeepsChunksAndRanks) {
  for (const char* name : {"mesh", "no_collectives", "file_per_item", "threads", "zstd", "sharded_tensor"}) {
    SCOPED_TRACE(name);
    const fs::path source = kReal / name / "ckpt";
    Value(ConvertFrom(source, {.run = {.force = true}}));
    const Catalog before = Value(Survey(source));
    const Catalog after = Value(Survey(target()));
    EXPECT_THAT(after.findings, IsEmpty());
    EXPECT_EQ(Parts(after), Parts(before));
    Names expected = {".metadata"};
    for (const SourceFile& file : before.files) {
      if (file.entries > 0) expected.insert("__" + std::to_string(file.rank.value()) + "_0.distcp");
    }
    EXPECT_EQ(ResultNames(), expected);
    const auto document = fixtures::ReadJson(kReal / name / "expected.json");
    fixtures::ExpectConverts(target(), document);
  }
}

// A checkpoint of many ranks is there in several files, and its ranks differ.
TEST_F(ToDcpTest, HasAFileForEachRank) {
  Value(ConvertFrom(kReal / "mesh/ckpt"));
  EXPECT_GE(ResultNames().size(), 3U);
}

TEST_F(ToDcpTest, GivesFilesOfOtherNamesRanksOfTheirOwn) {
  dcp::SampleCheckpoint sample;
  sample.AddTensor("w", {"w"}, {4}, 0,
                   {{.offsets = {0}, .sizes = {2}, .file = "__5_0.distcp"},
                    {.offsets = {2}, .sizes = {1}, .file = "part/one"},
                    {.offsets = {3}, .sizes = {1}, .file = "part/two"}});
  sample.PutIn(folder_, "old");
  Value(ConvertFrom(folder_ / "old"));
  EXPECT_EQ(ResultNames(), (Names{".metadata", "__5_0.distcp", "__6_0.distcp", "__7_0.distcp"}));
}

TEST_F(ToDcpTest, KeepsFlatKeysFlat) {
  dcp::SampleCheckpoint sample;
  sample.AddTensor("a.b", {}, {2});
  sample.AddInt("c.d", {}, 1);
  sample.PutIn(folder_, "old");
  Value(ConvertFrom(folder_ / "old"));
  const Catalog catalog = Value(Survey(target()));
  EXPECT_EQ(catalog.KeyPathOf(catalog.tensors.at(0)), KeyPath{"a.b"});
  EXPECT_EQ(catalog.KeyPathOf(catalog.objects.at(0)), KeyPath{"c.d"});
}

TEST_F(ToDcpTest, IsTheSameWhenItIsDoneTwice) {
  Value(ConvertFrom(kReal / "mesh/ckpt"));
  const auto once = Written();
  fs::rename(target(), folder_ / "once");
  Value(ConvertFrom(folder_ / "once"));
  EXPECT_EQ(Written(), once);
}

// --- Files that PyTorch wrote ---

class ToDcpRealFile : public testing::TestWithParam<std::string> {};

TEST_P(ToDcpRealFile, ComesBackEqual) {
  const test::TempDirectory folder;
  const auto entries = fixtures::ReadJson(kReal / "files/expected.json").at("files").at(GetParam() + ".pt");
  Value(TorchToDcp(kReal / "files" / (GetParam() + ".pt"), folder / "ckpt"));
  EXPECT_EQ(folder.Names(), Names{"ckpt"});
  const Catalog catalog = Value(Survey(folder / "ckpt"));
  EXPECT_THAT(catalog.findings, IsEmpty());
  EXPECT_TRUE(catalog.nested);
  EXPECT_EQ(catalog.entries.size(), entries.size());
  Value(DcpToTorch(folder / "ckpt", folder / "out.pt"));
  fixtures::ExpectHolds(folder / "out.pt", entries);
}

TEST_P(ToDcpRealFile, GivesEqualBytesWithAnyNumberOfJobs) {
  const test::TempDirectory folder;
  const fs::path source = kReal / "files" / (GetParam() + ".pt");
  Value(TorchToDcp(source, folder / "one", {.run = {.jobs = 1}}));
  Value(TorchToDcp(source, folder / "four", {.run = {.jobs = 4}}));
  for (const char* name : {".metadata", "__0_0.distcp"}) {
    EXPECT_EQ(folder.Contents(std::string("one/") + name), folder.Contents(std::string("four/") + name)) << name;
  }
}

std::string FileName(const testing::TestParamInfo<std::string>& info) { return info.param; }

INSTANTIATE_TEST_SUITE_P(Real, ToDcpRealFile,
                         testing::Values("plain", "state", "views", "tied", "dtypes", "shapes", "strides", "objects",
                                         "structure", "numpy", "nocrc", "aligned4096", "protocol2", "protocol5"),
                         FileName);

// What is left of a run that was killed is no checkpoint, not even when some ranks have files without bytes.
TEST(ToDcp, GivesMetadataItsNameLast) {
  for (const unsigned jobs : {1U, 4U}) {
    MemoryFileSystem files;
    files.Put("/in.pt", SampleFile());
    files.PutDirectory("/out");
    files.SetFaults({});
    Value(ToDcp(files, "/in.pt", "/out/ckpt", {.run = {.jobs = jobs}, .layout = {.world_size = 30}}));
    std::vector<std::string> named;
    for (const std::string& call : files.calls()) {
      if (call.starts_with("rename ")) named.push_back(call.substr(call.rfind('/') + 1));
    }
    ASSERT_GE(named.size(), 7U);
    EXPECT_EQ(named.back(), "ckpt");
    EXPECT_EQ(named[named.size() - 2], ".metadata");
  }
}

// --- Faults ---

// The parameter: whether an old checkpoint is there to be replaced.
class ToDcpFaults : public testing::TestWithParam<bool> {
 protected:
  using Files = std::map<std::string, std::string>;

  void SetUp() override {
    const auto files = NewFiles();
    Value(Convert(*files));
    calls_ = files->calls().size();
    complete_ = ResultOf(*files);
    ASSERT_EQ(complete_.size(), 2U);
    ASSERT_GT(calls_, 20U);
  }

  static bool replaces() { return GetParam(); }
  static Files Before() { return replaces() ? Files{{".metadata", "old"}, {"__9_0.distcp", "old"}} : Files(); }

  static std::unique_ptr<MemoryFileSystem> NewFiles() {
    auto files = std::make_unique<MemoryFileSystem>();
    files->Put("/in.pt", SampleFile());
    files->PutDirectory("/out");
    for (const auto& [name, bytes] : Before()) files->Put("/out/ckpt/" + name, bytes);
    files->SetFaults({});
    return files;
  }
  static Result<ConvertReport> Convert(MemoryFileSystem& files) {
    return ToDcp(files, "/in.pt", "/out/ckpt", {.run = {.jobs = 1, .force = replaces()}});
  }
  // Bytes of each file under the target's name.
  static Files ResultOf(MemoryFileSystem& files) {
    const std::string prefix = "/out/ckpt/";
    Files out;
    for (const std::string& path : files.Paths()) {
      if (path.starts_with(prefix)) out[path.substr(prefix.size())] = files.Contents(path).value();
    }
    return out;
  }
  // What lies beside the target, folders included.
  static Names Left(MemoryFileSystem& files) {
    Names names;
    for (const auto& entry : Value(files.ListDirectory("/out", {}))) names.insert(entry.name);
    return names;
  }

  size_t calls_ = 0;
  Files complete_;
};

TEST_P(ToDcpFaults, EveryFailedCallLeavesNothing) {  // R10
  for (const int code : {EIO, ENOSPC}) {
    for (size_t call = 0; call < calls_; ++call) {
      const auto files = NewFiles();
      files->SetFaults({.fail_call = call, .fail_errno = code});
      const auto report = Convert(*files);
      const std::string failed = files->calls().at(call);
      SCOPED_TRACE("call " + std::to_string(call) + ": " + failed);
      files->SetFaults({});
      const Files there = ResultOf(*files);
      if (report) {
        EXPECT_EQ(there, complete_);
        continue;  // what could not be removed of the old one is all that may be left
      }
      EXPECT_TRUE(there == Before() || there == complete_);
      EXPECT_FALSE(report.error().place().file.empty()) << report.error().ToString();
      // Nobody knows which of the two has the name on the disk.
      if (replaces() && failed == "sync directory /out") continue;
      EXPECT_EQ(Left(*files), there.empty() ? Names() : Names{"ckpt"});
    }
  }
}

TEST_P(ToDcpFaults, AFullDiskLeavesNothing) {  // C91
  size_t bytes = 0;
  for (const auto& [name, contents] : complete_) bytes += contents.size();
  for (size_t room = 0; room < bytes; room += 200) {
    const auto files = NewFiles();
    size_t used = 0;
    for (const std::string& path : files->Paths()) used += files->Contents(path)->size();
    files->SetFaults({.space = used + room});
    const auto report = Convert(*files);
    ASSERT_FALSE(report) << room;
    EXPECT_EQ(report.error().kind(), ErrorKind::kIo);
    EXPECT_EQ(ResultOf(*files), Before());
    EXPECT_EQ(Left(*files), replaces() ? Names{"ckpt"} : Names());
  }
}

std::string NameOf(const testing::TestParamInfo<bool>& info) { return info.param ? "OldCheckpoint" : "NewCheckpoint"; }

INSTANTIATE_TEST_SUITE_P(All, ToDcpFaults, testing::Bool(), NameOf);

}  // namespace
}  // namespace dcpctl::ops
