#include "tests/torch/real_files.h"

#include <algorithm>
#include <fstream>
#include <stdexcept>

namespace dcpctl::torch {

std::string ReadWholeFile(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("can't read " + path.string());
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<RealFile> RealFiles() {
  std::vector<RealFile> files;
  for (const auto& version : std::filesystem::directory_iterator(DCPCTL_TESTDATA_DIR)) {
    if (!std::filesystem::is_directory(version.path() / "files")) continue;
    for (const auto& file : std::filesystem::directory_iterator(version.path() / "files")) {
      const bool legacy = file.path().stem().extension() == ".legacy";
      if (file.path().extension() != ".pt" || legacy) continue;
      files.push_back({.path = file.path(), .bytes = ReadWholeFile(file.path())});
    }
  }
  if (files.size() <= 100) throw std::runtime_error("testdata has only " + std::to_string(files.size()) + " files");
  std::sort(files.begin(), files.end(), [](const RealFile& a, const RealFile& b) { return a.path < b.path; });
  return files;
}

}  // namespace dcpctl::torch
