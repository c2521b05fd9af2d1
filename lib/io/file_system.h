// Everything dcpctl asks of a file system, as an interface: tests run the same code on a memory tree that
// loses, cuts and refuses (tests/support/memory_file_system.h). Sources are only ever opened for reading.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dcpctl/error.h"
#include "io/file.h"
#include "io/sink.h"

namespace dcpctl::io {

struct DirectoryEntry {
  std::string name;  // relative to the listed directory, parts joined by '/'
  FileType type = FileType::kOther;
  friend bool operator==(const DirectoryEntry&, const DirectoryEntry&) = default;
};

struct ListOptions {
  bool recursive = false;      // symbolic links are listed, never followed
  uint64_t limit = 1'000'000;  // entries in all; more is an error of kind kLimit
};

// Thread-safe. Errors of all calls: kNotFound, kExists, kIo as ErrorFromErrno gives them; the place names the path.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // Follows symbolic links.
  virtual Result<FileInfo> Stat(const std::filesystem::path& path) = 0;
  // Sorted by the bytes of the name. Recursion deeper than 64 directories is kLimit.
  virtual Result<std::vector<DirectoryEntry>> ListDirectory(const std::filesystem::path& path,
                                                            const ListOptions& options = {}) = 0;
  // Absolute, without links, "." and ".."; parts that do not exist yet are kept as they are.
  virtual Result<std::filesystem::path> RealPath(const std::filesystem::path& path) = 0;
  // Free to this user on the file system that holds `path` or, if there is none yet, its nearest existing parent.
  virtual Result<uint64_t> FreeBytes(const std::filesystem::path& path) = 0;

  // A path that the user named: links are followed. What is not a regular file is kUnsupported; never blocks.
  virtual Result<std::unique_ptr<ReadFile>> OpenRead(const std::filesystem::path& path) = 0;
  // A name that came from an input. Refused names are kCorrupt (see CheckRelativeName); links that lead out of
  // `root` and what is not a regular file are kUnsupported. Name and place of the file are `root`/`relative`.
  virtual Result<std::unique_ptr<ReadFile>> OpenBeneath(const std::filesystem::path& root,
                                                        std::string_view relative) = 0;

  // An empty file `.NAME.XXXXXX.tmp` beside `target` that WriteFile::Commit publishes. The target need not exist;
  // its directory must.
  virtual Result<std::unique_ptr<WriteFile>> CreateTemp(const std::filesystem::path& target) = 0;
  // An existing FIFO, character device or regular file, written from its start without publishing. Opening a FIFO
  // waits for its reader.
  virtual Result<std::unique_ptr<Sink>> OpenStream(const std::filesystem::path& path) = 0;
  // A file without a name in `directory`, gone when it is closed or the process ends.
  virtual Result<std::unique_ptr<ScratchFile>> OpenScratch(const std::filesystem::path& directory) = 0;

  // A second name for the file that is open as `source`, never a copy. kExists when the name is taken, kUnsupported
  // when the two are on different file systems or the system does not allow it, kMismatch when the path of `source`
  // leads to another file by now. Durable after SyncDirectory of the folder of `to`.
  virtual Result<void> Link(const ReadFile& source, const std::filesystem::path& to) = 0;
  // True when made, false when the directory was there. Something else there is kExists. The parent must exist; its
  // entry is durable after SyncDirectory of the parent.
  virtual Result<bool> MakeDirectory(const std::filesystem::path& path) = 0;
  virtual Result<void> SyncDirectory(const std::filesystem::path& path) = 0;
  // Files and directories. Without `replace` an existing `to` is kExists and stays; race-safe. Not durable before
  // SyncDirectory.
  virtual Result<void> Rename(const std::filesystem::path& from, const std::filesystem::path& to, bool replace) = 0;
  // Each of two that exist takes the name of the other, at once. False where the file system cannot; nothing has
  // changed then. Not durable before SyncDirectory.
  virtual Result<bool> Exchange(const std::filesystem::path& a, const std::filesystem::path& b) = 0;
  virtual Result<void> RemoveFile(const std::filesystem::path& path) = 0;
  // Must be empty.
  virtual Result<void> RemoveDirectory(const std::filesystem::path& path) = 0;
};

class SystemCalls;

// `calls` (the kernel's when null) must outlive the file system and every file it opened.
std::unique_ptr<FileSystem> NewPosixFileSystem(const SystemCalls* calls = nullptr);

// Whether a name from an input may be opened below a directory at all: not empty, not absolute, no ".." part, no
// trailing slash, no control characters (NUL included). kCorrupt with the reason otherwise.
Result<void> CheckRelativeName(std::string_view relative);

// Same device and inode. False when one of them does not exist.
Result<bool> SameFile(FileSystem& files, const std::filesystem::path& a, const std::filesystem::path& b);
// Whether `path` is `directory` or lies below it, after links; either may not exist yet.
Result<bool> IsInside(FileSystem& files, const std::filesystem::path& path, const std::filesystem::path& directory);

}  // namespace dcpctl::io
