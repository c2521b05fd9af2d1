// The loops around pread, pwrite, open and fstat that every kind of file needs: interrupted calls are repeated, short
// transfers continued. `place.file` names the file in errors; their offset is where the transfer stopped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "dcpctl/error.h"
#include "io/file.h"
#include "io/system_calls.h"
#include "io/unique_fd.h"

namespace dcpctl::io {

// openat; `action` as for ErrorFromErrno.
Result<UniqueFd> OpenAt(const SystemCalls& calls, int directory, const std::string& path, int flags, mode_t mode,
                        const std::string& name, std::string_view action = "open");

FileInfo ToFileInfo(const struct stat& status);
Result<FileInfo> StatFd(const SystemCalls& calls, int fd, const std::string& name);

// Bytes transferred before the end of the file: out.size(), or less when the file ends there.
Result<uint64_t> ReadFull(const SystemCalls& calls, int fd, uint64_t offset, std::span<std::byte> out,
                          const std::string& name);
Result<void> WriteFull(const SystemCalls& calls, int fd, uint64_t offset, std::span<const std::byte> bytes,
                       const std::string& name);
// EINVAL, from devices and file systems that have nothing to sync, counts as done. Never repeated.
Result<void> SyncDirectoryFd(const SystemCalls& calls, int fd, const std::string& name);

// kCorrupt when [offset, offset + length) is not inside `size` bytes.
Result<void> CheckReadRange(uint64_t offset, uint64_t length, uint64_t size, const std::string& name);

}  // namespace dcpctl::io
