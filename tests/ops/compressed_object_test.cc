// An object that holds several tensors, in a compressed item: each storage has others before it and behind it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "dcpctl/compare.h"
#include "dcpctl/convert.h"
#include "dcpctl/inspect.h"
#include "dcpctl/verify.h"
#include "support/result.h"
#include "support/temp_directory.h"
#include "torch/sample_archive.h"

namespace dcpctl::ops {
namespace {

using test::Value;

// {"o": (tensors)} of one storage each.
std::string FileOf(const std::vector<std::string>& storages) {
  pickle::Document d;
  std::vector<pickle::Value> tensors;
  for (size_t i = 0; i < storages.size(); ++i) {
    const auto items = static_cast<int64_t>(storages[i].size() / 4);
    tensors.push_back(
        torch::MakeSample(d, {.key = std::to_string(i), .items = items, .shape = {items}, .strides = {1}}));
  }
  const pickle::Value root = d.Dict();
  d.SetItem(root, d.String("o"), d.Tuple(tensors));
  return torch::SaveTorch(root, storages);
}

void ExpectThereAndBack(const std::vector<std::string>& storages) {
  test::TempDirectory folder;
  folder.Put("in.pt", FileOf(storages));
  Value(TorchToDcp(folder / "in.pt", folder / "ckpt", {.zstd_level = 1}));
  const VerifyReport verified = Value(Verify(folder / "ckpt", {.level = VerifyLevel::kPayload}));
  for (const Finding& finding : verified.findings) ADD_FAILURE() << finding.id << ": " << finding.message;
  Value(DcpToTorch(folder / "ckpt", folder / "out.pt"));
  EXPECT_TRUE(Value(Compare(folder / "in.pt", folder / "out.pt")).equal);
}

std::string Random(size_t bytes) {
  std::mt19937_64 random(bytes);
  std::string text(bytes, '\0');
  for (size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(random());
  return text;
}

TEST(CompressedObject, MayHaveMegabytesBehindAStorage) {
  ExpectThereAndBack({Random(16), Random(3 << 20), std::string(2 << 20, 'x'), Random(8)});
}

// More than the survey holds of a decoded record: the headers of its storages are in the middle.
TEST(CompressedObject, MayBeLargerThanWhatIsHeldOfIt) {
  std::vector<std::string> storages;
  for (size_t i = 0; i < 5; ++i) storages.emplace_back(size_t{12} << 20, static_cast<char>('a' + i));
  ExpectThereAndBack(storages);
}

// Nor do its pickle and its directory lie in the first and the last megabyte.
TEST(CompressedObject, MayHaveThousandsOfStorages) {
  std::vector<std::string> storages;
  for (size_t i = 0; i < 20'000; ++i) storages.push_back(Random(4 + i % 7 * 4));
  ExpectThereAndBack(storages);
}

TEST(CompressedObject, MayBeLargerThanTheLimitIfItWasNotMadeMuchSmaller) {
  const auto ids_of = [](const std::string& storage) {
    test::TempDirectory folder;
    folder.Put("in.pt", FileOf({storage}));
    Value(TorchToDcp(folder / "in.pt", folder / "ckpt", {.zstd_level = 1}));
    VerifyOptions options{.level = VerifyLevel::kPayload};
    options.run.limits.object_bytes = uint64_t{1} << 20;
    std::vector<std::string> ids;
    for (const Finding& finding : Value(Verify(folder / "ckpt", options)).findings) ids.push_back(finding.id);
    return ids;
  };
  EXPECT_EQ(ids_of(Random(3 << 20)), std::vector<std::string>());
  EXPECT_EQ(ids_of(std::string(3 << 20, '\0')), std::vector<std::string>({"dcp.record-damaged"}));
}

// Bytes that this process has read from files, as the kernel counts.
uint64_t BytesRead() {
  std::ifstream counts("/proc/self/io");
  std::string name;
  uint64_t bytes = 0;
  counts >> name >> bytes;
  EXPECT_EQ(name, "rchar:");
  return bytes;
}

// A storage can be decoded only with all that comes before it: one after the other they would take as many times the
// record as there are.
TEST(CompressedObject, IsDecodedOnceForAllStorages) {
  constexpr size_t kStorages = 60;
  test::TempDirectory folder;
  std::vector<std::string> storages;
  for (size_t i = 0; i < kStorages; ++i) storages.push_back(Random((64 << 10) + 4 * i));
  folder.Put("in.pt", FileOf(storages));
  const auto in = folder / "in.pt";
  const auto packed = folder / "ckpt";
  Value(TorchToDcp(in, packed, {.zstd_level = 1}));
  uint64_t record = 0;
  for (const auto& file : std::filesystem::directory_iterator(packed)) record += file.file_size();

  const auto expect_few = [&](const char* what, const std::function<void()>& work) {
    const uint64_t before = BytesRead();
    work();
    EXPECT_LE(BytesRead() - before, 6 * record + (uint64_t{1} << 20)) << what;
  };
  expect_few("verify", [&] { EXPECT_TRUE(Value(Verify(packed, {.level = VerifyLevel::kPayload})).ok); });
  expect_few("to torch", [&] { Value(DcpToTorch(packed, folder / "out.pt")); });
  expect_few("compare", [&] { EXPECT_TRUE(Value(Compare(packed, packed)).equal); });
  // Nor where a budget is too small for it.
  RunOptions small;
  small.memory_bytes = uint64_t{4} << 20;
  expect_few("little memory", [&] { Value(DcpToTorch(packed, folder / "small.pt", {.run = small})); });
  EXPECT_TRUE(Value(Compare(in, folder / "out.pt")).equal);
  EXPECT_TRUE(Value(Compare(in, folder / "small.pt")).equal);
}

}  // namespace
}  // namespace dcpctl::ops
