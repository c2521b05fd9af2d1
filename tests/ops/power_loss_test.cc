// Everything that writes, with the power cut after every call. The disk has what was synced, and of the rest any part
// in any order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "support/result.h"
#include "tests/ops/writers.h"

namespace dcpctl::ops {
namespace {

using test::Value;
using ::testing::IsEmpty;

uint32_t Seeds() { return std::getenv("DCPCTL_LONG") != nullptr ? 200 : 6; }

struct Case {
  Writer writer;
  bool replaces;
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const Writer& writer : Writers()) {
    cases.push_back({writer, false});
    if (writer.can_force) cases.push_back({writer, true});
  }
  return cases;
}

class PowerLoss : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    const auto files = New();
    before_ = TreeOf(*files, kWritten);
    Value(Run(*files));
    calls_ = files->calls().size();
    complete_ = TreeOf(*files, kWritten);
    ASSERT_GT(calls_, 10U);
    ASSERT_NE(complete_, before_);
  }

  std::unique_ptr<test::MemoryFileSystem> New() const {
    return NewFiles(GetParam().writer, sources_, GetParam().replaces);
  }
  static Result<void> Run(test::MemoryFileSystem& files) { return GetParam().writer.run(files, GetParam().replaces); }
  void ExpectSources(test::MemoryFileSystem& files) const {
    for (const auto& [path, bytes] : sources_) ASSERT_EQ(files.Contents(path), bytes) << path;
  }

  const Tree sources_ = MakeSources(0);
  Tree before_;
  Tree complete_;
  size_t calls_ = 0;
};

TEST_P(PowerLoss, LeavesTheOldOrTheNew) {  // R8, R9
  RecordProperty("cuts", std::to_string((calls_ + 1) * Seeds()));
  for (size_t call = 0; call <= calls_; ++call) {
    for (uint32_t seed = 0; seed < Seeds(); ++seed) {
      const auto files = New();
      files->SetFaults({.stop_call = call});
      (void)Run(*files).has_value();
      files->Crash(seed == 0 ? std::nullopt : std::optional(static_cast<uint32_t>(call) * Seeds() + seed));
      SCOPED_TRACE("call " + std::to_string(call) + ", seed " + std::to_string(seed));
      const Tree there = TreeOf(*files, kWritten);
      ASSERT_TRUE(there == before_ || there == complete_) << there.size() << " files";
      ExpectSources(*files);
    }
  }
}

// Once a run has said that it is done, the result outlives a loss of power.
TEST_P(PowerLoss, LosesNothingThatWasDone) {
  const auto files = New();
  Value(Run(*files));
  EXPECT_THAT(LeftOver(*files), IsEmpty());
  files->Crash();
  EXPECT_EQ(TreeOf(*files, kWritten), complete_);
  ExpectSources(*files);
}

std::string NameOf(const testing::TestParamInfo<Case>& info) {
  return std::string(info.param.writer.name) + (info.param.replaces ? "Replaces" : "");
}

INSTANTIATE_TEST_SUITE_P(All, PowerLoss, testing::ValuesIn(Cases()), NameOf);

}  // namespace
}  // namespace dcpctl::ops
