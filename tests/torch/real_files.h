// The files in testdata that torch.save wrote in zip form, by all versions.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace dcpctl::torch {

struct RealFile {
  std::filesystem::path path;
  std::string bytes;
};

// More than 100, sorted by path. Throws when they can't be read.
std::vector<RealFile> RealFiles();
// Those in stream form; more than 60.
std::vector<RealFile> LegacyFiles();
std::string ReadWholeFile(const std::filesystem::path& path);

}  // namespace dcpctl::torch
