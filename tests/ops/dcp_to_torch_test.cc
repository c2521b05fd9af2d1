#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "dcp/sample_checkpoint.h"
#include "dcpctl/convert.h"
#include "dcpctl/survey.h"
#include "io/file_system.h"
#include "support/result.h"
#include "support/temp_directory.h"
#include "torch/archive.h"
#include "torch/sample_archive.h"

namespace dcpctl {
namespace {

namespace fs = std::filesystem;
using test::ErrorOf;
using test::Value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Names = std::set<std::string>;

PathElement Pos(uint64_t position) { return {position}; }

// The nested value in a file, tensors as T.
std::string Structure(const fs::path& path) {
  const auto file = Value(io::NewPosixFileSystem()->OpenRead(path));
  const torch::Archive archive = Value(torch::OpenArchive(*file, 0, file->size(), Limits{}));
  return pickle::Print(archive.document.root(), {.describe = [](pickle::Value value) {
                         return value.IsCallOf("torch._utils", "_rebuild_tensor_v2") ? std::string("T") : std::string();
                       }});
}

// The elements of each tensor, which are row-major float32.
std::map<std::string, std::vector<float>> Tensors(const fs::path& path) {
  const auto file = Value(io::NewPosixFileSystem()->OpenRead(path));
  const Catalog catalog = Value(Survey(path));
  std::map<std::string, std::vector<float>> out;
  for (const Tensor& tensor : catalog.tensors) {
    auto& elements = out[std::string(tensor.key)];
    elements.resize(Numel(tensor.shape).value());
    if (elements.empty()) continue;
    const StoredTensor& stored = catalog.ChunksOf(tensor)[0].stored;
    const auto bytes =
        Value(ReadRange(*file, stored.offset + stored.first_element * sizeof(float), elements.size() * sizeof(float)));
    std::memcpy(elements.data(), bytes.data(), bytes.size());
  }
  return out;
}

class DcpToTorchTest : public testing::Test {
 protected:
  // {"model": {"w": [4, 2] in two files, "v": [3]}, "k": [T, T, T], "step": 7, "optim": {"state": {"0": T, "1": T}}}
  void SetUp() override {
    sample_.AddTensor(
        "model.w", {"model", "w"}, {4, 2}, 0,
        {{.offsets = {0, 0}, .sizes = {2, 2}}, {.offsets = {2, 0}, .sizes = {2, 2}, .file = "__1_0.distcp"}});
    sample_.AddTensor("model.v", {"model", "v"}, {3}, 100);
    for (uint64_t i = 0; i < 3; ++i)
      sample_.AddTensor("k." + std::to_string(i), {"k", Pos(i)}, {1}, 200 + static_cast<float>(i),
                        {{.offsets = {0}, .sizes = {1}, .file = "__2_0.distcp"}});
    sample_.AddInt("step", {"step"}, 7);
    for (const char* key : {"0", "1"})
      sample_.AddTensor(std::string("optim.state.") + key, {"optim", "state", key}, {1});
  }

  void Put() { sample_.PutIn(folder_, "ckpt"); }
  Result<ConvertReport> Convert(const ConvertOptions& options = {}) {
    return DcpToTorch(folder_ / "ckpt", target(), options);
  }
  std::string Converted(const ConvertOptions& options = {}) {
    Put();
    report_ = Value(Convert(options));
    return Structure(target());
  }
  fs::path target() const { return folder_ / "out.pt"; }
  // Nothing of the run is left.
  void ExpectNothingWritten() { EXPECT_EQ(folder_.Names(), Names{"ckpt"}); }
  std::vector<std::string> Findings() const {
    std::vector<std::string> texts;
    for (const Finding& finding : report_.plan.findings)
      texts.push_back(finding.id + (finding.key.empty() ? "" : " " + finding.key));
    return texts;
  }
  void FlipBit(const std::string& name, size_t offset) {
    std::string bytes = folder_.Contents(name);
    bytes.at(offset) = static_cast<char>(bytes[offset] ^ 1);
    folder_.Put(name, bytes);
  }

  test::TempDirectory folder_;
  dcp::SampleCheckpoint sample_;
  ConvertReport report_;
};

TEST_F(DcpToTorchTest, NestsAsTheCheckpointSays) {
  EXPECT_EQ(Converted(),
            "{'model': {'w': T, 'v': T}, 'k': [T, T, T], 'step': 7, 'optim': {'state': {'0': T, '1': T}}}");
  EXPECT_EQ(Tensors(target()).at("model.w"), (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(report_.tensors, 7U);
  EXPECT_EQ(report_.objects, 1U);
  EXPECT_EQ(report_.tensor_bytes, (8 + 3 + 3 + 2) * sizeof(float));
  EXPECT_EQ(report_.plan.bytes_written, fs::file_size(target()));
  EXPECT_TRUE(report_.written);
  EXPECT_THAT(Findings(), IsEmpty());
  EXPECT_EQ(folder_.Names(), (Names{"ckpt", "out.pt"}));
}

TEST_F(DcpToTorchTest, FlatKeepsKeys) {
  EXPECT_EQ(
      Converted({.flat = true}),
      "{'model.w': T, 'model.v': T, 'k.0': T, 'k.1': T, 'k.2': T, 'step': 7, 'optim.state.0': T, 'optim.state.1': T}");
}

TEST_F(DcpToTorchTest, WithoutPathsIsFlat) {
  dcp::SampleCheckpoint flat;
  flat.AddTensor("a.b", {}, {1});
  flat.PutIn(folder_, "ckpt");
  Value(Convert());
  EXPECT_EQ(Structure(target()), "{'a.b': T}");
}

TEST_F(DcpToTorchTest, SelectsAndExcludes) {
  EXPECT_EQ(Converted({.selection = {.select = {"model", "step"}, .exclude = {"model.v"}}}),
            "{'model': {'w': T}, 'step': 7}");
}

TEST_F(DcpToTorchTest, ExcludedListPositionsBecomeNone) {
  EXPECT_EQ(Converted({.selection = {.select = {"k"}, .exclude = {"k.1"}}}), "{'k': [T, None, T]}");
  EXPECT_THAT(Findings(), ElementsAre("convert.list-gap"));
  EXPECT_EQ(report_.plan.findings[0].severity, Severity::kNote);
  EXPECT_THAT(report_.plan.findings[0].message, HasSubstr("1 list position"));
}

TEST_F(DcpToTorchTest, StripsAndAddsPrefixes) {  // C118
  EXPECT_EQ(Converted({.selection = {.select = {"model"}, .strip_prefix = "model"}}), "{'w': T, 'v': T}");
  fs::remove(target());
  Value(Convert({.selection = {.select = {"model"}, .strip_prefix = "model", .add_prefix = "net.0"}}));
  EXPECT_EQ(Structure(target()), "{'net': {'0': {'w': T, 'v': T}}}");
}

TEST_F(DcpToTorchTest, DropsObjects) {
  EXPECT_EQ(Converted({.selection = {.select = {"step", "model"}}, .objects = ObjectPolicy::kDrop}),
            "{'model': {'w': T, 'v': T}}");
}

TEST_F(DcpToTorchTest, IntKeys) {
  EXPECT_EQ(Converted({.selection = {.select = {"optim"}}, .int_keys = true}), "{'optim': {'state': {0: T, 1: T}}}");
}

TEST_F(DcpToTorchTest, TensorsInsideObjectsComeAlong) {
  const auto make = [](float first) {
    return [first](pickle::Document& d) {
      const pickle::Value list = d.List();
      d.Append(list, torch::MakeSample(d, {.items = 2, .shape = {2}, .strides = {1}}));
      d.Append(list, d.Float(first));
      return list;
    };
  };
  sample_.AddObject("ema", {"ema"}, make(1), {dcp::Floats(2, 50)});
  sample_.AddObject("emb", {"emb"}, make(2), {dcp::Floats(2, 60)});
  EXPECT_THAT(Converted({.selection = {.select = {"em*"}}}), "{'ema': [T, 1.0], 'emb': [T, 2.0]}");
  const auto tensors = Tensors(target());
  EXPECT_EQ(tensors.at("ema.0"), (std::vector<float>{50, 51}));
  EXPECT_EQ(tensors.at("emb.0"), (std::vector<float>{60, 61}));
}

TEST_F(DcpToTorchTest, RefusesAttacksUnlessAllowed) {  // C31
  sample_.AddObject("evil", {"evil"},
                    [](pickle::Document& d) { return d.Call(d.Global("os", "system"), {d.String("true")}); });
  Put();
  const Error error = ErrorOf(Convert());
  EXPECT_THAT(error.ToString(), HasSubstr("os.system"));
  EXPECT_THAT(error.ToString(), HasSubstr("--allow-global os.system"));
  ExpectNothingWritten();
  Value(Convert({.selection = {.select = {"evil"}}, .allow_globals = {"os.system"}}));
  EXPECT_THAT(Structure(target()), HasSubstr("os.system"));
  fs::remove(target());
  Value(Convert({.objects = ObjectPolicy::kDrop}));  // what is not carried over needs no leave
}

TEST_F(DcpToTorchTest, StopsAtDamageAndLeavesNothing) {  // C10
  const size_t payload = sample_.file("__1_0.distcp").find(dcp::Floats(4, 4));
  Put();
  FlipBit("ckpt/__1_0.distcp", payload);
  const Error error = ErrorOf(Convert());
  EXPECT_EQ(error.kind(), ErrorKind::kCorrupt);
  EXPECT_THAT(error.ToString(), HasSubstr((folder_ / "ckpt/__1_0.distcp").string()));
  EXPECT_THAT(error.ToString(), HasSubstr("model.w"));
  EXPECT_EQ(error.place().offset, payload);
  ExpectNothingWritten();
}

TEST_F(DcpToTorchTest, SkipsExactlyWhatIsDamaged) {
  const size_t payload = sample_.file("__1_0.distcp").find(dcp::Floats(4, 4));
  Put();
  FlipBit("ckpt/__1_0.distcp", payload);
  fs::remove(folder_ / "ckpt/__2_0.distcp");
  report_ = Value(Convert({.skip_damaged = true}));
  EXPECT_EQ(report_.left_out, 4U);
  EXPECT_THAT(Findings(), ::testing::UnorderedElementsAre("dcp.file-missing k.0", "dcp.file-missing k.1",
                                                          "dcp.file-missing k.2", "payload.crc model.w"));
  EXPECT_EQ(Structure(target()), "{'model': {'v': T}, 'step': 7, 'optim': {'state': {'0': T, '1': T}}}");
}

TEST_F(DcpToTorchTest, SkippedListPositionsBecomeNone) {
  sample_.AddTensor("k.3", {"k", Pos(3)}, {1}, 9, {{.offsets = {0}, .sizes = {1}, .file = "__3_0.distcp"}});
  Put();
  fs::remove(folder_ / "ckpt/__2_0.distcp");
  Value(Convert({.selection = {.select = {"k"}}, .skip_damaged = true}));
  EXPECT_EQ(Structure(target()), "{'k': [None, None, None, T]}");
}

TEST_F(DcpToTorchTest, SkipDamagedOfAGoodCheckpointChangesNothing) {
  Put();
  Value(Convert());
  report_ = Value(DcpToTorch(folder_ / "ckpt", folder_ / "skipped.pt", {.skip_damaged = true}));
  EXPECT_EQ(report_.left_out, 0U);
  EXPECT_EQ(folder_.Contents("skipped.pt"), folder_.Contents("out.pt"));
}

TEST_F(DcpToTorchTest, DamageOfOtherKeysDoesNotMatter) {  // C36
  sample_.AddRaw("sealed", "float32", {2}, "????", {"com.acme.seal/1"});
  Put();
  fs::remove(folder_ / "ckpt/__2_0.distcp");
  const Error error = ErrorOf(Convert({.selection = {.exclude = {"k"}}}));
  EXPECT_THAT(error.ToString(), HasSubstr("com.acme.seal/1"));
  EXPECT_THAT(error.ToString(), HasSubstr("sealed"));
  report_ = Value(Convert({.selection = {.select = {"model"}}}));
  EXPECT_EQ(Structure(target()), "{'model': {'w': T, 'v': T}}");
  EXPECT_THAT(Findings(), IsEmpty()) << "what was not asked for is no news";
}

TEST_F(DcpToTorchTest, DryRunWritesNothing) {
  Put();
  report_ = Value(Convert({.run = {.dry_run = true}}));
  EXPECT_FALSE(report_.written);
  ExpectNothingWritten();
  const uint64_t planned = report_.plan.outputs.at(0).bytes;
  EXPECT_EQ(report_.tensors, 7U);
  Value(Convert());
  EXPECT_EQ(planned, fs::file_size(target()));
}

TEST_F(DcpToTorchTest, ReplacesOnlyWhenForced) {
  Put();
  folder_.Put("out.pt", "old");
  EXPECT_EQ(ErrorOf(Convert()).kind(), ErrorKind::kExists);
  EXPECT_EQ(ErrorOf(Convert({.run = {.dry_run = true}})).kind(), ErrorKind::kExists);
  EXPECT_EQ(folder_.Contents("out.pt"), "old");
  Value(Convert({.run = {.force = true}}));
  EXPECT_NE(folder_.Contents("out.pt"), "old");
}

TEST_F(DcpToTorchTest, FailedRunsLeaveTheOldFile) {
  const size_t payload = sample_.file("__1_0.distcp").find(dcp::Floats(4, 4));
  Put();
  FlipBit("ckpt/__1_0.distcp", payload);
  folder_.Put("out.pt", "old");
  EXPECT_FALSE(Convert({.run = {.force = true}}));
  EXPECT_EQ(folder_.Contents("out.pt"), "old");
  EXPECT_EQ(folder_.Names(), (Names{"ckpt", "out.pt"}));
}

TEST_F(DcpToTorchTest, BytesDependOnNothingButTheInput) {  // R13
  sample_.AddTensor(
      "big", {"big"}, {512, 600}, 0,
      {{.offsets = {0, 0}, .sizes = {512, 250}}, {.offsets = {0, 250}, .sizes = {512, 350}, .file = "__1_0.distcp"}});
  sample_.AddTensor("packed", {"packed"}, {300000}, 1, {{.offsets = {0}, .sizes = {300000}, .zstd = true}});
  Put();
  Value(Convert());
  const std::string whole = folder_.Contents("out.pt");
  for (const unsigned jobs : {1U, 2U, 7U, 32U}) {
    for (const uint64_t memory : {uint64_t{4} << 20, uint64_t{256} << 20}) {
      for (const Reflink reflink : {Reflink::kAuto, Reflink::kNever}) {
        Value(Convert({.run = {.jobs = jobs, .memory_bytes = memory, .reflink = reflink, .force = true}}));
        EXPECT_EQ(folder_.Contents("out.pt"), whole) << jobs << " jobs, " << memory << " bytes";
      }
    }
  }
}

TEST_F(DcpToTorchTest, StreamsTheSameBytes) {
  Put();
  Value(Convert());
  ASSERT_EQ(mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  std::string streamed;
  std::jthread reader([&] { streamed = folder_.Contents("fifo"); });
  Value(DcpToTorch(folder_ / "ckpt", folder_ / "fifo"));
  reader.join();
  EXPECT_EQ(streamed, folder_.Contents("out.pt"));
}

// Runs a function when a stage begins, and counts.
class Watcher final : public Observer {
 public:
  explicit Watcher(std::function<void(std::string_view)> on_stage = {}) : on_stage_(std::move(on_stage)) {}
  void OnStage(std::string_view name, uint64_t total) override {
    stages.emplace_back(name);
    if (name == "copy") expected_bytes = total;
    if (on_stage_) on_stage_(name);
  }
  void OnBytes(uint64_t count) override { bytes += count; }
  std::vector<std::string> stages;
  uint64_t expected_bytes = 0;
  uint64_t bytes = 0;

 private:
  std::function<void(std::string_view)> on_stage_;
};

TEST_F(DcpToTorchTest, TellsAnObserverHowFarItIs) {
  Put();
  Watcher watcher;
  Value(Convert({.run = {.observer = &watcher}}));
  EXPECT_THAT(watcher.stages, ElementsAre("survey", "copy", "commit"));
  EXPECT_EQ(watcher.expected_bytes, fs::file_size(target()));
  EXPECT_EQ(watcher.bytes, watcher.expected_bytes);
}

TEST_F(DcpToTorchTest, StopsWhenTheSourceChanges) {  // R19
  const std::vector<std::pair<std::string, std::function<void(const fs::path&)>>> changes = {
      {"grows", [](const fs::path& file) { std::ofstream(file, std::ios::app) << "more"; }},
      {"shrinks", [](const fs::path& file) { fs::resize_file(file, fs::file_size(file) - 1); }},
      {"is touched",
       [](const fs::path& file) {
         fs::last_write_time(file, fs::file_time_type::clock::now() + std::chrono::seconds(5));
       }},
      {"is replaced",
       [](const fs::path& file) {
         fs::copy_file(file, file.string() + ".new");
         fs::last_write_time(file.string() + ".new", fs::file_time_type::clock::now() + std::chrono::seconds(7));
         fs::rename(file.string() + ".new", file);
       }},
      {"is removed", [](const fs::path& file) { fs::remove(file); }},
  };
  Put();
  for (const std::string file : {"__1_0.distcp", ".metadata"}) {
    const std::string good = folder_.Contents("ckpt/" + file);
    for (const auto& [name, change] : changes) {
      SCOPED_TRACE(file + " " + name);
      Watcher watcher([&, act = change](std::string_view stage) {
        if (stage == "copy") act(folder_ / "ckpt" / file);
      });
      const auto report = Convert({.run = {.jobs = 1, .observer = &watcher}});
      ASSERT_FALSE(report);
      EXPECT_EQ(report.error().kind(), name == "is removed" ? ErrorKind::kNotFound : ErrorKind::kMismatch)
          << report.error().ToString();
      EXPECT_THAT(report.error().ToString(), HasSubstr(file));
      ExpectNothingWritten();
      folder_.Put("ckpt/" + file, good);
    }
  }
}

TEST_F(DcpToTorchTest, OneOfTwoRunsOnOneTargetWins) {  // R20
  Put();
  for (int turn = 0; turn < 10; ++turn) {
    std::vector<std::unique_ptr<Result<ConvertReport>>> reports(2);
    {
      std::vector<std::jthread> runs;
      for (auto& report : reports)
        runs.emplace_back(
            [this, &report] { report = std::make_unique<Result<ConvertReport>>(Convert({.run = {.jobs = 2}})); });
    }
    EXPECT_NE(reports[0]->has_value(), reports[1]->has_value());
    for (const auto& report : reports) {
      if (!*report) {
        EXPECT_EQ(report->error().kind(), ErrorKind::kExists) << report->error().ToString();
      }
    }
    EXPECT_EQ(folder_.Names(), (Names{"ckpt", "out.pt"}));
    fs::remove(target());
  }
}

TEST_F(DcpToTorchTest, StopsWhenAsked) {
  Put();
  for (const std::string at : {"survey", "copy"}) {
    std::stop_source stop;
    Watcher watcher([&](std::string_view stage) {
      if (stage == at) stop.request_stop();
    });
    EXPECT_EQ(ErrorOf(Convert({.run = {.stop = stop.get_token(), .observer = &watcher}})).kind(),
              ErrorKind::kCancelled);
    ExpectNothingWritten();
  }
}

TEST_F(DcpToTorchTest, RefusesOtherSources) {
  Put();
  Value(Convert());
  const Error error = ErrorOf(DcpToTorch(target(), folder_ / "again.pt"));
  EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  EXPECT_THAT(error.message(), HasSubstr("this is a torch.save file"));
  EXPECT_THAT(error.message(), HasSubstr("dcp_to_torch needs a DCP directory"));
  EXPECT_EQ(ErrorOf(DcpToTorch(folder_ / "nowhere", folder_ / "again.pt")).kind(), ErrorKind::kNotFound);
}

TEST_F(DcpToTorchTest, RefusesDevicesThatAreNotThere) {
  Put();
  EXPECT_EQ(ErrorOf(Convert({.run = {.device = "tpu"}})).kind(), ErrorKind::kUsage);
  ExpectNothingWritten();
}

TEST_F(DcpToTorchTest, NamesThePatternThatMatchesNothing) {  // C77
  Put();
  const Error error = ErrorOf(Convert({.selection = {.select = {"modle"}}}));
  EXPECT_EQ(error.kind(), ErrorKind::kNotFound);
  EXPECT_THAT(error.ToString(), HasSubstr("\"model\""));
}

TEST_F(DcpToTorchTest, HugeListPositionsAreRefused) {
  sample_.AddTensor("z", {"z", Pos(9'999'999)}, {1});
  Put();
  EXPECT_EQ(ErrorOf(Convert()).kind(), ErrorKind::kLimit);
  ExpectNothingWritten();
}

}  // namespace
}  // namespace dcpctl
