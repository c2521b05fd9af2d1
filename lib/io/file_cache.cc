#include "io/file_cache.h"

#include <sys/resource.h>

#include <algorithm>

#include "base/result.h"

namespace dcpctl::io {
namespace {

// Half of what the process may have open, which leaves room for outputs and for what the caller holds.
size_t FairShareOfDescriptors() {
  constexpr size_t kLeast = 8;
  constexpr size_t kMost = 1024;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kLeast;
  return std::clamp<size_t>(limit.rlim_cur / 2, kLeast, kMost);
}

}  // namespace

FileCache::FileCache(FileSystem& files, std::vector<CachedPath> paths, size_t max_open)
    : files_(files), max_open_(max_open != 0 ? max_open : FairShareOfDescriptors()) {
  slots_.reserve(paths.size());
  for (CachedPath& path : paths) slots_.push_back({.path = std::move(path), .file = nullptr, .age = by_age_.end()});
}

Result<std::shared_ptr<const ReadFile>> FileCache::OpenNow(const CachedPath& path) {
  DCPCTL_ASSIGN(std::unique_ptr<ReadFile> file,
                path.relative.empty() ? files_.OpenRead(path.root) : files_.OpenBeneath(path.root, path.relative));
  const FileInfo& info = file->info();
  if (path.known && (info.bytes != path.bytes || info.mtime_ns != path.mtime_ns)) {
    return Fail(Place{.file = file->name()}, ErrorKind::kMismatch,
                "changed while it was being read: " + std::to_string(info.bytes) + " bytes now, expected " +
                    std::to_string(path.bytes) + " and the same modification time");
  }
  return std::shared_ptr<const ReadFile>(std::move(file));
}

Result<std::shared_ptr<const ReadFile>> FileCache::Open(uint32_t index) {
  const std::lock_guard lock(mutex_);
  Slot& slot = slots_[index];
  if (slot.file) {
    by_age_.splice(by_age_.begin(), by_age_, slot.age);
    return slot.file;
  }
  DCPCTL_ASSIGN(auto file, OpenNow(slot.path));
  slot.path.known = true;
  slot.path.bytes = file->info().bytes;
  slot.path.mtime_ns = file->info().mtime_ns;
  slot.used = true;
  slot.file = file;
  by_age_.push_front(index);
  slot.age = by_age_.begin();
  if (by_age_.size() > max_open_) {
    slots_[by_age_.back()].file.reset();
    by_age_.pop_back();
  }
  return file;
}

Result<void> FileCache::CheckUnchanged() {
  const std::lock_guard lock(mutex_);
  for (Slot& slot : slots_) {
    if (!slot.used) continue;
    std::shared_ptr<const ReadFile> file = slot.file;
    if (!file) {
      DCPCTL_ASSIGN(file, OpenNow(slot.path));
    }
    DCPCTL_TRY(file->CheckUnchanged());
  }
  return {};
}

}  // namespace dcpctl::io
