#include "ops/detect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/memory_file_system.h"
#include "support/result.h"
#include "torch/sample_archive.h"
#include "zip/raw_zip.h"

namespace dcpctl::ops {
namespace {

using test::MemoryFileSystem;
using test::Value;
using ::testing::HasSubstr;
using ::testing::Not;

std::string TorchFile() {
  pickle::Document document;
  return torch::SaveTorch(document.Dict(), {});
}

std::string TorchScript() {
  return zip::MakeZip({{.name = "model/data.pkl", .data = "x"}, {.name = "model/constants.pkl", .data = "x"}});
}

Identity OfFile(const std::string& name, const std::string& bytes) {
  MemoryFileSystem files;
  files.Put("/" + name, bytes);
  return Value(Identify(files, "/" + name));
}

Identity OfDirectory(const std::vector<std::string>& names) {
  MemoryFileSystem files;
  files.PutDirectory("/d");
  for (const std::string& name : names) files.Put("/d/" + name, "bytes");
  return Value(Identify(files, "/d"));
}

const std::string kSafetensors = std::string("\x0a\0\0\0\0\0\0\0", 8) + "{\"a\":null}";

// Content counts, never the name.
TEST(Identify, TellsFilesByContent) {
  for (const char* name : {"model.pt", "weights.safetensors", "noname"}) {
    EXPECT_EQ(OfFile(name, TorchFile()).kind, SourceKind::kTorchZip) << name;
    EXPECT_EQ(OfFile(name, TorchScript()).kind, SourceKind::kTorchScript) << name;
    EXPECT_EQ(OfFile(name, kSafetensors).kind, SourceKind::kSafetensorsFile) << name;  // C100
    EXPECT_EQ(OfFile(name, zip::MakeZip({{.name = "a.txt", .data = "x"}})).kind, SourceKind::kForeignZip) << name;
    EXPECT_EQ(OfFile(name, "").kind, SourceKind::kEmptyFile) << name;  // C99
    EXPECT_EQ(OfFile(name, std::string("\x80\x02}q\0.", 6)).kind, SourceKind::kBarePickle) << name;
    EXPECT_EQ(OfFile(name, "plain text").kind, SourceKind::kOtherFile) << name;
    EXPECT_EQ(OfFile(name, "x").kind, SourceKind::kOtherFile) << name;
  }
}

TEST(Identify, NamesOldFormsOfTorchSave) {  // C101, C102
  EXPECT_EQ(OfFile("model.pt", std::string("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", 15)).kind,
            SourceKind::kTorchLegacy);
  // Protocols 1, 3 and 4.
  EXPECT_EQ(OfFile("model.pt", "L119547037146038801333356L\n.more").kind, SourceKind::kTorchLegacy);
  EXPECT_EQ(OfFile("model.pt", std::string("\x80\x03\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", 15)).kind,
            SourceKind::kTorchLegacy);
  EXPECT_EQ(OfFile("model.pt", std::string("\x80\x04\x95\x0d\0\0\0\0\0\0\0\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a"
                                           "\xa8\x50\x19.more",
                                           28))
                .kind,
            SourceKind::kTorchLegacy);
  EXPECT_EQ(OfFile("model.pt", std::string("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x18.", 15)).kind,
            SourceKind::kBarePickle);
  std::string tar(1024, '\0');
  tar.replace(257, 5, "ustar");
  EXPECT_EQ(OfFile("model.pt", tar).kind, SourceKind::kTorchTar);
}

TEST(Identify, NamesTruncatedFiles) {  // C99
  const std::string whole = TorchFile();
  for (const size_t percent : {1U, 20U, 60U, 99U}) {
    const Identity identity = OfFile("model.pt", whole.substr(0, std::max<size_t>(4, whole.size() * percent / 100)));
    EXPECT_EQ(identity.kind, SourceKind::kTruncatedZip) << percent;
    EXPECT_THAT(identity.description, HasSubstr("truncated"));
    EXPECT_THAT(identity.advice, HasSubstr("cannot be read"));
  }
}

TEST(Identify, TellsAnUnreadableDiskFromADamagedFile) {
  MemoryFileSystem files;
  const std::string bytes = TorchFile();
  files.Put("/model.pt", bytes);
  files.SetFaults({.read_error_at = bytes.size() - 1});
  const Error error = test::ErrorOf(Identify(files, "/model.pt"));
  EXPECT_EQ(error.kind(), ErrorKind::kIo);
  EXPECT_EQ(error.place().offset, bytes.size() - 1);
}

TEST(Identify, NamesWhatDownloadsLeave) {  // C100
  const Identity pointer = OfFile("model.pt", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n");
  EXPECT_EQ(pointer.kind, SourceKind::kGitLfsPointer);
  EXPECT_THAT(pointer.advice, HasSubstr("git lfs pull"));
  EXPECT_EQ(OfFile("model.pth", "<!DOCTYPE html><title>x</title>").kind, SourceKind::kHtml);
  EXPECT_EQ(OfFile("model.pth", "\n <HTML lang=en>").kind, SourceKind::kHtml);
}

TEST(Identify, KnowsALoneDataFile) {  // C117
  const Identity identity = OfFile("__0_0.distcp", TorchFile());
  EXPECT_EQ(identity.kind, SourceKind::kDataFile);
  EXPECT_THAT(identity.description, HasSubstr("data file"));
}

TEST(Identify, KnowsMetadataGivenAsAFile) {
  const Identity identity = OfFile(".metadata", std::string("\x80\x04.", 3));
  EXPECT_EQ(identity.kind, SourceKind::kBarePickle);
  EXPECT_THAT(identity.description, HasSubstr("metadata of a DCP checkpoint"));
}

TEST(Identify, TellsDirectoriesByWhatIsInThem) {
  EXPECT_EQ(OfDirectory({".metadata", "__0_0.distcp"}).kind, SourceKind::kDcp);
  EXPECT_EQ(OfDirectory({".metadata"}).kind, SourceKind::kDcp);
  EXPECT_EQ(OfDirectory({"__0.metadata", "__1.metadata", "__0_0.distcp"}).kind, SourceKind::kDcpRankLocal);  // C17
  EXPECT_EQ(OfDirectory({".metadata", "__0.metadata"}).kind, SourceKind::kDcp);
  EXPECT_EQ(OfDirectory({"shard-00001-model-00001-of-00001.safetensors"}).kind, SourceKind::kSafetensorsDir);
  EXPECT_EQ(OfDirectory({}).kind, SourceKind::kEmptyDirectory);  // C02
  EXPECT_EQ(OfDirectory({"README"}).kind, SourceKind::kOtherDirectory);
}

TEST(Identify, NamesUnfinishedSaves) {  // C06
  EXPECT_EQ(OfDirectory({"__0_0.distcp", "__1_0.distcp"}).kind, SourceKind::kUnfinished);
  EXPECT_EQ(OfDirectory({"__0_0.distcp", ".metadata.tmp"}).kind, SourceKind::kUnfinished);
  EXPECT_EQ(OfDirectory({".metadata.tmp"}).kind, SourceKind::kUnfinished);
  EXPECT_THAT(OfDirectory({"__0_0.distcp"}).description, HasSubstr("unfinished"));
}

TEST(Identify, NamesFilesOfEachRank) {  // C05
  for (const char* name : {"model_world_size_8_rank_0.pt", "optim.rank_3.pth", "x.rank3.pt",
                           "mp_rank_00_model_states.pt", "pytorch_model_rank_1.bin"}) {
    const Identity identity = OfDirectory({name});
    EXPECT_EQ(identity.kind, SourceKind::kPerRankTorch) << name;
    EXPECT_THAT(identity.description, HasSubstr("not DCP"));
  }
  for (const char* name : {"model.pt", "rank.pt", "rank_0.txt", "franky.pt"})
    EXPECT_EQ(OfDirectory({name}).kind, SourceKind::kOtherDirectory) << name;
}

TEST(Identify, ListsTheCheckpointsOfAFolder) {  // C04
  const Identity identity = OfDirectory(
      {"pytorch_model_fsdp_0/.metadata", "optimizer_0/.metadata", "ranks/__0.metadata", "logs/x.txt", "scheduler.pt"});
  EXPECT_EQ(identity.kind, SourceKind::kCheckpointParent);
  EXPECT_THAT(identity.advice, HasSubstr("optimizer_0"));
  EXPECT_THAT(identity.advice, HasSubstr("pytorch_model_fsdp_0"));
  EXPECT_THAT(identity.advice, HasSubstr("ranks"));
  EXPECT_THAT(identity.advice, Not(HasSubstr("logs")));
}

TEST(Identify, ListsOnlySomeOfMany) {
  std::vector<std::string> names;
  for (int i = 0; i < 30; ++i) names.push_back("step_" + std::to_string(100 + i) + "/.metadata");
  const Identity identity = OfDirectory(names);
  EXPECT_EQ(identity.kind, SourceKind::kCheckpointParent);
  EXPECT_THAT(identity.advice, HasSubstr("more"));
  EXPECT_LT(identity.advice.size(), 1000U);
}

TEST(Identify, ReportsWhatIsNotThere) {
  MemoryFileSystem files;
  EXPECT_EQ(test::ErrorOf(Identify(files, "/nowhere")).kind(), ErrorKind::kNotFound);
}

// Never more than a look: the first bytes and, of a zip archive, its end.
TEST(Identify, ReadsNoMoreThanNeeded) {
  MemoryFileSystem files;
  files.Put("/big", std::string(10 << 20, 'x'));
  files.SetFaults({.read_error_at = 4096});
  EXPECT_EQ(Value(Identify(files, "/big")).kind, SourceKind::kOtherFile);
}

}  // namespace
}  // namespace dcpctl::ops
