// One object that holds tensors and that several keys of a state have: it is read, pickled and digested once, and has
// to be whole under each of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "dcp/sample_checkpoint.h"
#include "dcpctl/compare.h"
#include "dcpctl/convert.h"
#include "dcpctl/survey.h"
#include "dcpctl/verify.h"
#include "support/result.h"
#include "support/temp_directory.h"
#include "torch/sample_archive.h"

namespace dcpctl::ops {
namespace {

using test::Value;
using ::testing::UnorderedElementsAre;

constexpr const char* kKeys[] = {"first", "second", "third"};

// {"w": [4], "first": state, "second": state, "third": state}, where `state` has two storages, one of them twice.
std::string SampleFile() {
  pickle::Document d;
  const pickle::Value attributes = d.Dict();
  d.SetItem(attributes, d.String("a"), torch::MakeSample(d, {.key = "1", .items = 3, .shape = {3}, .strides = {1}}));
  d.SetItem(attributes, d.String("b"), torch::MakeSample(d, {.key = "2", .items = 2, .shape = {2}, .strides = {1}}));
  d.SetItem(attributes, d.String("tied"), torch::MakeSample(d, {.key = "1", .items = 3, .shape = {2}, .strides = {1}}));
  const pickle::Value state = d.Object(pickle::Construct::kNewObj, d.Global("acme", "State"), d.Tuple({}));
  d.SetState(state, attributes);
  const pickle::Value root = d.Dict();
  d.SetItem(root, d.String("w"), torch::MakeSample(d, {.key = "0", .items = 4, .shape = {4}, .strides = {1}}));
  for (const char* key : kKeys) d.SetItem(root, d.String(key), state);
  return torch::SaveTorch(root, {dcp::Floats(4, 1), dcp::Floats(3, 10), dcp::Floats(2, 20)});
}

class SharedObjectTest : public testing::Test {
 protected:
  SharedObjectTest() { folder_.Put("in.pt", SampleFile()); }
  // That all keys have the same object as the source's, each time with its storages' bytes.
  void ExpectWhole(const std::filesystem::path& checkpoint) {
    EXPECT_TRUE(Value(Verify(checkpoint, {.level = VerifyLevel::kPayload})).ok);
    const CompareReport compared = Value(Compare(folder_ / "in.pt", checkpoint));
    EXPECT_TRUE(compared.equal);
    EXPECT_EQ(compared.totals.objects, 3U);
    const Catalog catalog = Value(Survey(checkpoint));
    ASSERT_EQ(catalog.objects.size(), 3U);
    for (const Object& object : catalog.objects) {
      SCOPED_TRACE(object.key);
      std::vector<uint64_t> bytes;
      for (const ObjectStorage& storage : object.value->storages) bytes.push_back(storage.stored.bytes);
      EXPECT_THAT(bytes, UnorderedElementsAre(12U, 8U));
    }
  }

  test::TempDirectory folder_;
};

TEST_F(SharedObjectTest, IsWholeUnderEachKeyOfADirectory) {
  for (const unsigned jobs : {1U, 4U}) {
    for (const std::optional<int> level : {std::optional<int>(), std::optional(3)}) {
      SCOPED_TRACE(std::to_string(jobs) + " jobs" + (level ? ", compressed" : ""));
      Value(
          TorchToDcp(folder_ / "in.pt", folder_ / "ckpt", {.run = {.jobs = jobs, .force = true}, .zstd_level = level}));
      ExpectWhole(folder_ / "ckpt");
    }
  }
}

TEST_F(SharedObjectTest, ComesBackFromADirectory) {
  Value(TorchToDcp(folder_ / "in.pt", folder_ / "ckpt"));
  Value(DcpToTorch(folder_ / "ckpt", folder_ / "out.pt"));
  ExpectWhole(folder_ / "out.pt");
}

}  // namespace
}  // namespace dcpctl::ops
