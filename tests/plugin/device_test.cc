#include "plugin/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "support/result.h"

namespace dcpctl::plugin {
namespace {

using test::ErrorOf;
using test::Value;
using ::testing::HasSubstr;

// What the fake is told, for one test.
class FakeDevices : public testing::Test {
 protected:
  ~FakeDevices() override { unsetenv("DCPCTL_FAKE_DEVICES"); }
  static void Have(const char* count) { setenv("DCPCTL_FAKE_DEVICES", count, 1); }
  static Result<std::unique_ptr<Device>> Open(std::string_view name, uint64_t local_rank = 0) {
    return OpenDevice(DCPCTL_FAKE_PLUGIN_DIR, name, local_rank);
  }
};

TEST_F(FakeDevices, AreNumberedOrSharedOutInTurn) {
  Have("2");
  EXPECT_TRUE(Open("cuda"));
  EXPECT_TRUE(Open("cuda", 7));
  EXPECT_TRUE(Open("cuda:1"));
  const Error error = ErrorOf(Open("cuda:2"));
  EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  EXPECT_THAT(error.ToString(), HasSubstr("device \"cuda:2\" cannot be used: there are 2, numbered from 0"));
}

TEST_F(FakeDevices, MayBeNone) {
  Have("0");
  EXPECT_THAT(ErrorOf(Open("cuda")).ToString(), HasSubstr("cannot be used: there is none"));
  Have("99");  // which fails
  EXPECT_THAT(ErrorOf(Open("cuda")).ToString(), HasSubstr("cannot be used: no driver"));
}

TEST_F(FakeDevices, HaveNames) {
  EXPECT_EQ(Value(Open("cpu")), nullptr);
  EXPECT_TRUE(Open("cuda:0"));
  for (const char* name : {"", "gpu", "cuda:", "cuda:x", "cuda:1x", "cuda:-1", "cudax", "cuda:99999999999999999999"})
    EXPECT_EQ(ErrorOf(Open(name)).kind(), ErrorKind::kUsage) << name;
}

TEST_F(FakeDevices, NeedTheirPlugin) {
  const Error error = ErrorOf(OpenDevice("/nowhere", "cuda", 0));
  EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  EXPECT_THAT(error.ToString(), HasSubstr("/nowhere/dcpctl_cuda.so: error: is not there"));
}

TEST_F(FakeDevices, CopyBoxes) {
  const auto device = Value(Open("cuda"));
  const auto lane = Value(device->OpenLane(100));
  std::vector<std::byte> bytes(24);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
  Value(lane->Upload(10, bytes));
  // Columns 1 and 2 of a 4 x 6 matrix.
  const CopyLevelV1 rows{.count = 4, .from_step = 6, .to_step = 2};
  Value(lane->Copy({.from = 11, .to = 60, .run_bytes = 2, .levels = &rows, .level_count = 1}));
  std::vector<std::byte> columns(8);
  Value(lane->Download(columns, 60));
  Value(lane->Wait());
  for (size_t row = 0; row < 4; ++row) {
    EXPECT_EQ(columns[2 * row], bytes[6 * row + 1]);
    EXPECT_EQ(columns[2 * row + 1], bytes[6 * row + 2]);
  }
  EXPECT_THAT(ErrorOf(lane->Upload(90, bytes)).ToString(), HasSubstr("outside the lane"));
}

TEST_F(FakeDevices, SayWhereTheirMemoryIs) {
  auto device = Value(Open("cuda"));
  EXPECT_EQ(device->memory_kind(), MemoryKind::kOrdinary);
  const auto lane = Value(device->OpenLane(100));
  EXPECT_EQ(lane->kind(), MemoryKind::kOrdinary);
  Value(lane->MakeCurrent());
  lane->address()[7] = std::byte{1};
  // Lanes are kept where bytes may still be on their way to them.
  device.reset();
  std::byte found{};
  Value(lane->Download({&found, 1}, 7));
  Value(lane->Wait());
  EXPECT_EQ(found, std::byte{1});
  setenv("DCPCTL_FAKE_DEVICE_APART", "1", 1);
  EXPECT_EQ(Value(Open("cuda"))->memory_kind(), MemoryKind::kCuda);
  unsetenv("DCPCTL_FAKE_DEVICE_APART");
}

}  // namespace
}  // namespace dcpctl::plugin
