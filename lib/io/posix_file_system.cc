#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/quote.h"
#include "base/result.h"
#include "io/errno_text.h"
#include "io/file_system.h"
#include "io/list_directory.h"
#include "io/open_beneath.h"
#include "io/posix_read_file.h"
#include "io/posix_scratch_file.h"
#include "io/posix_write_file.h"
#include "io/publish.h"
#include "io/transfer.h"

namespace dcpctl::io {
namespace {

namespace fs = std::filesystem;

class PosixFileSystem final : public FileSystem {
 public:
  explicit PosixFileSystem(const SystemCalls& calls) : calls_(calls) {}

  Result<FileInfo> Stat(const fs::path& path) override {
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0) return ToFileInfo(status);
    return Fail(ErrorFromErrno(errno, "read attributes", Place{path.string()}));
  }

  Result<std::vector<DirectoryEntry>> ListDirectory(const fs::path& path, const ListOptions& options) override {
    return ListPosixDirectory(calls_, path, options);
  }

  Result<fs::path> RealPath(const fs::path& path) override;
  Result<uint64_t> FreeBytes(const fs::path& path) override;
  Result<std::unique_ptr<ReadFile>> OpenRead(const fs::path& path) override;
  Result<std::unique_ptr<ReadFile>> OpenBeneath(const fs::path& root, std::string_view relative) override;

  Result<std::unique_ptr<WriteFile>> CreateTemp(const fs::path& target) override {
    return NewPosixWriteFile(calls_, target);
  }

  Result<std::unique_ptr<Sink>> OpenStream(const fs::path& path) override;

  Result<std::unique_ptr<ScratchFile>> OpenScratch(const fs::path& directory) override {
    return NewPosixScratchFile(calls_, directory);
  }

  Result<void> Link(const ReadFile& source, const fs::path& to) override;
  Result<bool> MakeDirectory(const fs::path& path) override;
  Result<void> SyncDirectory(const fs::path& path) override;
  Result<void> Rename(const fs::path& from, const fs::path& to, bool replace) override;
  Result<bool> Exchange(const fs::path& a, const fs::path& b) override {
    return ExchangeNames(calls_, {AT_FDCWD, a.native()}, {AT_FDCWD, b.native()}, b.string());
  }
  Result<void> RemoveFile(const fs::path& path) override { return Remove(path, 0); }
  Result<void> RemoveDirectory(const fs::path& path) override { return Remove(path, AT_REMOVEDIR); }

 private:
  Result<void> Remove(const fs::path& path, int flags) {
    if (calls_.UnlinkAt(AT_FDCWD, path.c_str(), flags) == 0) return {};
    return Fail(ErrorFromErrno(errno, "remove", Place{path.string()}));
  }

  const SystemCalls& calls_;
};

Result<fs::path> PosixFileSystem::RealPath(const fs::path& path) {
  std::error_code error;
  fs::path real = fs::absolute(path, error);
  if (!error) real = fs::weakly_canonical(real, error);
  if (error) return Fail(ErrorFromErrno(error.value(), "resolve", Place{path.string()}));
  return real.has_filename() ? real : real.parent_path();
}

Result<uint64_t> PosixFileSystem::FreeBytes(const fs::path& path) {
  DCPCTL_ASSIGN(fs::path existing, RealPath(path));
  struct statvfs status {};
  while (::statvfs(existing.c_str(), &status) != 0) {
    const bool missing = errno == ENOENT || errno == ENOTDIR;
    if (errno == EINTR) continue;
    if (!missing || !existing.has_relative_path()) {
      return Fail(ErrorFromErrno(errno, "ask for free space", Place{path.string()}));
    }
    existing = existing.parent_path();
  }
  return uint64_t{status.f_bavail} * status.f_frsize;
}

Result<std::unique_ptr<ReadFile>> PosixFileSystem::OpenRead(const fs::path& path) {
  // O_NONBLOCK: opening a FIFO must not wait for a writer only to be refused then.
  const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY;
  DCPCTL_ASSIGN(UniqueFd fd, OpenAt(calls_, AT_FDCWD, path.string(), flags, 0, path.string()));
  return NewPosixReadFile(calls_, std::move(fd), path);
}

Result<std::unique_ptr<ReadFile>> PosixFileSystem::OpenBeneath(const fs::path& root, std::string_view relative) {
  DCPCTL_ASSIGN(UniqueFd fd, OpenFdBeneath(calls_, root, std::string(relative)));
  return NewPosixReadFile(calls_, std::move(fd), root / relative);
}

Result<std::unique_ptr<Sink>> PosixFileSystem::OpenStream(const fs::path& path) {
  const int flags = O_WRONLY | O_TRUNC | O_NOCTTY;
  DCPCTL_ASSIGN(UniqueFd fd, OpenAt(calls_, AT_FDCWD, path.string(), flags, 0, path.string()));
  return NewStreamSink(fd.Release(), path.string(), &calls_);
}

Result<void> PosixFileSystem::Link(const ReadFile& source, const fs::path& to) {
  if (calls_.LinkAt(AT_FDCWD, std::string(source.name()).c_str(), AT_FDCWD, to.c_str()) != 0) {
    const int err = errno;
    Error error = ErrorFromErrno(err, "make a hard link to " + Quote(source.name()), Place{to.string()});
    if (err != EXDEV && err != EPERM && err != EMLINK && err != EOPNOTSUPP) return Fail(std::move(error));
    return Fail(Error(ErrorKind::kUnsupported, error.place(), error.message()).Advise("copy it instead"));
  }
  // The name may have been given to another file since it was opened.
  struct stat status {};
  if (::lstat(to.c_str(), &status) == 0 && ToFileInfo(status).id == source.info().id) return {};
  (void)calls_.UnlinkAt(AT_FDCWD, to.c_str(), 0);
  return Fail(Place{std::string(source.name())}, ErrorKind::kMismatch, "is another file than the one that was opened");
}

Result<bool> PosixFileSystem::MakeDirectory(const fs::path& path) {
  if (::mkdir(path.c_str(), 0777) == 0) return true;
  const int err = errno;
  if (err != EEXIST) return Fail(ErrorFromErrno(err, "create directory", Place{path.string()}));
  const auto there = Stat(path);
  if (there && there->type == FileType::kDirectory) return false;
  return Fail(Place{path.string()}, ErrorKind::kExists, "already exists and is not a directory");
}

Result<void> PosixFileSystem::SyncDirectory(const fs::path& path) {
  const std::string name = path.empty() ? "." : path.string();
  DCPCTL_ASSIGN(const UniqueFd fd, OpenAt(calls_, AT_FDCWD, name, O_RDONLY | O_DIRECTORY, 0, name));
  return SyncDirectoryFd(calls_, fd.get(), name);
}

Result<void> PosixFileSystem::Rename(const fs::path& from, const fs::path& to, bool replace) {
  const Name source{AT_FDCWD, from.native()};
  const Name target{AT_FDCWD, to.native()};
  return replace ? RenameOver(calls_, source, target, to.string()) : RenameNew(calls_, source, target, to.string());
}

}  // namespace

std::unique_ptr<FileSystem> NewPosixFileSystem(const SystemCalls* calls) {
  return std::make_unique<PosixFileSystem>(calls != nullptr ? *calls : KernelCalls());
}

}  // namespace dcpctl::io
