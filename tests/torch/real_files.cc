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

namespace {

std::vector<RealFile> FilesOfForm(bool legacy, size_t at_least) {
  std::vector<RealFile> files;
  for (const auto& version : std::filesystem::directory_iterator(DCPCTL_TESTDATA_DIR)) {
    if (!std::filesystem::is_directory(version.path() / "files")) continue;
    for (const auto& file : std::filesystem::directory_iterator(version.path() / "files")) {
      const bool is_legacy = file.path().stem().extension() == ".legacy";
      if (file.path().extension() != ".pt" || is_legacy != legacy) continue;
      files.push_back({.path = file.path(), .bytes = ReadWholeFile(file.path())});
    }
  }
  if (files.size() <= at_least)
    throw std::runtime_error("testdata has only " + std::to_string(files.size()) + " files");
  std::sort(files.begin(), files.end(), [](const RealFile& a, const RealFile& b) { return a.path < b.path; });
  return files;
}

}  // namespace

std::vector<RealFile> RealFiles() { return FilesOfForm(false, 100); }
std::vector<RealFile> LegacyFiles() { return FilesOfForm(true, 60); }

}  // namespace dcpctl::torch
