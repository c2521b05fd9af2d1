// Everything that writes, on sources in memory: for tests of what a failing system makes of it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dcpctl/error.h"
#include "support/memory_file_system.h"

namespace dcpctl::ops {

using Tree = std::map<std::string, std::string>;  // contents by path

inline constexpr const char* kWritten = "/out/new";  // a file or a folder

struct Writer {
  const char* name;
  bool makes_folder;
  bool can_force;
  std::vector<std::string> reads;  // source files
  std::function<Result<void>(io::FileSystem&, bool force)> run;
};

const std::vector<Writer>& Writers();

// Sources of all writers, whole and durable. Another `first` element: other values in the same places.
Tree MakeSources(float first);
// What there is before a run: sources, and /out, with something to replace or without.
std::unique_ptr<test::MemoryFileSystem> NewFiles(const Writer& writer, const Tree& sources, bool replaces);

// Files by their whole path: all, or those at or below `path`.
Tree TreeOf(test::MemoryFileSystem& files, const std::string& path);
// Names in /out but for that of the target.
std::vector<std::string> LeftOver(test::MemoryFileSystem& files);

}  // namespace dcpctl::ops
