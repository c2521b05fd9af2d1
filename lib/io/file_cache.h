// Source files of one job, opened on first use and closed again when too many are open: checkpoints have
// more files than a process may hold open. Notices when a file changes while the job runs.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "dcpctl/error.h"
#include "io/file_system.h"

namespace dcpctl::io {

// A file below a directory, or the directory path itself when `relative` is empty. `bytes` and `mtime_ns`,
// when `known`, are what it must still have when it is opened.
struct CachedPath {
  std::string root;
  std::string relative;
  bool known = false;
  uint64_t bytes = 0;
  int64_t mtime_ns = 0;
};

// Thread-safe. The file system must outlive it.
class FileCache {
 public:
  // Holds up to `max_open` files open, the most recently used ones; 0: a fair part of what the process may.
  FileCache(FileSystem& files, std::vector<CachedPath> paths, size_t max_open = 0);

  // Stays readable as long as the pointer is held, also after the cache has let it go.
  Result<std::shared_ptr<const ReadFile>> Open(uint32_t index);
  // kMismatch for the first file that was opened here and is not what it was then.
  Result<void> CheckUnchanged();

 private:
  struct Slot {
    CachedPath path;
    std::shared_ptr<const ReadFile> file;
    std::list<uint32_t>::iterator age;  // in by_age_, while `file` is there
    bool used = false;
  };

  Result<std::shared_ptr<const ReadFile>> OpenNow(const CachedPath& path);

  FileSystem& files_;
  const size_t max_open_;
  std::mutex mutex_;  // guards the two below
  std::vector<Slot> slots_;
  std::list<uint32_t> by_age_;  // open ones, most recently opened first
};

}  // namespace dcpctl::io
