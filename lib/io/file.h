// Open files: ReadFile (a source), WriteFile (an output that appears under its name only when it is complete) and
// ScratchFile (room for what does not fit in memory). Made by a FileSystem. Offsets and lengths are in bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/byte_source.h"
#include "base/device_memory.h"
#include "dcpctl/error.h"

namespace dcpctl::io {

enum class FileType : uint8_t { kRegular, kDirectory, kSymlink, kFifo, kSocket, kCharDevice, kBlockDevice, kOther };

// "regular file", "directory", "FIFO", ...
std::string_view FileTypeName(FileType type);

// Two paths with equal ids are the same file.
struct FileId {
  uint64_t device = 0;
  uint64_t inode = 0;
  friend bool operator==(const FileId&, const FileId&) = default;
};

struct FileInfo {
  FileType type = FileType::kOther;
  uint64_t bytes = 0;
  int64_t mtime_ns = 0;  // since 1970
  FileId id;
  uint64_t block_bytes = 0;  // preferred transfer size; clone granularity on the file systems that can clone
};

enum class AccessHint : uint8_t { kSequential, kRandom, kWillNeed, kDontNeed };

// Thread-safe. Errors of ReadAt: kIo with path and offset; kCorrupt for a range past the end, also when the file
// has become shorter than it was when it was opened.
class ReadFile : public ByteSource {
 public:
  // As it was when the file was opened.
  [[nodiscard]] virtual const FileInfo& info() const = 0;
  [[nodiscard]] uint64_t size() const override { return info().bytes; }
  // As ReadAt, but into memory of a device and past that of the program. Returns the CRC-32 of the bytes; nothing, with
  // nothing done, where they do not come by a way that can do it: those of most files do not.
  virtual Result<std::optional<uint32_t>> LandAt(uint64_t /*offset*/, const DevicePart& /*to*/) const {
    return std::nullopt;
  }
  // kMismatch, naming what changed, when size or modification time are not those of info() any more or the path
  // leads to another file or nowhere. Call at the end of a job that read from the file.
  virtual Result<void> CheckUnchanged() const = 0;
  // Only a hint: never fails. `length` 0 means to the end.
  virtual void Hint(AccessHint hint, uint64_t offset = 0, uint64_t length = 0) const = 0;
  // For in-kernel copies; -1 when the file is not one of the kernel's. Stays owned by this.
  [[nodiscard]] virtual int fd() const = 0;
};

// Written under a temporary name beside its target. WriteAt, CloneRange and StartWriteback may be called from
// several threads for ranges that do not overlap; Allocate and Commit by one thread with no other call running. The
// destructor removes the temporary file if it was not committed and is still the one made here.
class WriteFile {
 public:
  virtual ~WriteFile() = default;
  virtual Result<void> WriteAt(uint64_t offset, std::span<const std::byte> bytes) = 0;
  // Sets the size and reserves the room for it where the file system can; bytes not written read as zero. kIo "no
  // space: needs N bytes" when there is not enough.
  virtual Result<void> Allocate(uint64_t bytes) = 0;
  // Shares blocks with `source` instead of copying. Both offsets must be multiples of the block size (else false);
  // whole blocks only, also at the end of the source: copy a partial last block. `length` 0 does nothing and is true.
  // False: this pair of files or range cannot be cloned, nothing was written, copy instead. kIo: EIO, ENOSPC and
  // everything else that must not be papered over with a copy.
  virtual Result<bool> CloneRange(const ReadFile& source, uint64_t source_offset, uint64_t offset, uint64_t length) = 0;
  // Starts writing a finished range to the device, so that the sync in Commit is short. Only a hint: never fails.
  virtual void StartWriteback(uint64_t offset, uint64_t length) = 0;
  // Sync file, rename to the target, sync directory. Once, whatever the outcome: a failed sync is never retried,
  // since the kernel may have dropped the data by then. Without `replace` an existing target is kExists and stays as
  // it is, also when it appears while this runs. When only the sync of the directory fails, the target is in place
  // and the error says so. A target that is a symbolic link is replaced itself, not what it points at.
  virtual Result<void> Commit(bool replace) = 0;

  [[nodiscard]] virtual const std::filesystem::path& target() const = 0;
  [[nodiscard]] virtual const std::filesystem::path& temp_path() const = 0;
  // As for ReadFile. Open for reading and writing.
  [[nodiscard]] virtual int fd() const = 0;
};

// One thread may write while others read what is already written. size() is the end of the last byte written.
class ScratchFile : public ByteSource {
 public:
  virtual Result<void> WriteAt(uint64_t offset, std::span<const std::byte> bytes) = 0;
};

}  // namespace dcpctl::io
