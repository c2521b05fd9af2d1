// Runs the corpus of every fuzz target as a test, in builds without libFuzzer, too: seeds, and inputs that once were
// too much. A target that finds something wrong aborts.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <vector>

#include "fuzz/targets.h"

namespace dcpctl::fuzz {
namespace {

namespace fs = std::filesystem;

const fs::path kCorpus = fs::path(DCPCTL_SOURCE_DIR) / "tests" / "fuzz" / "corpus";
// The corpus is part of the sources, and whoever adds to it is to think twice.
constexpr uint64_t kMostCorpusBytes = 1 << 20;

std::vector<fs::path> InputsOf(const Target& target) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(kCorpus / target.name)) paths.push_back(entry.path());
  std::ranges::sort(paths);
  return paths;
}

class Replay : public testing::TestWithParam<Target> {};

TEST_P(Replay, NoInputIsTooMuch) {
  // One second for each MiB, and none of these is as large as that; sanitizers take their share.
  constexpr auto kMostTime = std::chrono::seconds(DCPCTL_IS_SANITIZED ? 10 : 1);
  const std::vector<fs::path> paths = InputsOf(GetParam());
  EXPECT_GT(paths.size(), 3U);
  for (const fs::path& path : paths) {
    std::ifstream in(path, std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    std::cerr << path.filename().string() << "\n";  // the last one of a process that aborted
    const auto start = std::chrono::steady_clock::now();
    GetParam().run(std::as_bytes(std::span(bytes)));
    EXPECT_LT(std::chrono::steady_clock::now() - start, kMostTime) << path;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Replay, testing::ValuesIn(kTargets),
                         [](const auto& target) { return std::string(target.param.name); });

TEST(Corpus, IsSmall) {
  uint64_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(kCorpus))
    if (entry.is_regular_file()) bytes += entry.file_size();
  EXPECT_LT(bytes, kMostCorpusBytes);
}

}  // namespace
}  // namespace dcpctl::fuzz
