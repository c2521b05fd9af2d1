#include "io/posix_read_file.h"

#include <cerrno>

#include "base/result.h"
#include "io/errno_text.h"
#include "io/transfer.h"

namespace dcpctl::io {
namespace {

class PosixReadFile final : public ReadFile {
 public:
  PosixReadFile(const SystemCalls& calls, UniqueFd fd, const std::filesystem::path& path, FileInfo info)
      : calls_(calls), fd_(std::move(fd)), name_(path.string()), info_(info) {}

  Result<void> ReadAt(uint64_t offset, std::span<std::byte> out) const override {
    DCPCTL_TRY(CheckReadRange(offset, out.size(), info_.bytes, name_));
    DCPCTL_ASSIGN(const uint64_t done, ReadFull(calls_, fd_.get(), offset, out, name_));
    if (done == out.size()) return {};
    return Fail(Place{name_, offset + done}, ErrorKind::kCorrupt,
                "file ended at " + std::to_string(offset + done) + ", expected " + std::to_string(info_.bytes) +
                    " bytes: it shrank while being read");
  }

  Result<void> CheckUnchanged() const override {
    DCPCTL_ASSIGN(const FileInfo now, StatFd(calls_, fd_.get(), name_));
    if (now.bytes != info_.bytes) {
      return Changed("its size is " + std::to_string(now.bytes) + " bytes, expected " + std::to_string(info_.bytes));
    }
    if (now.mtime_ns != info_.mtime_ns) return Changed("its modification time is another one");
    struct stat at_path {};
    if (::stat(name_.c_str(), &at_path) != 0) {
      if (errno == ENOENT || errno == ENOTDIR) return Changed("it was removed");
      return Fail(ErrorFromErrno(errno, "read attributes", Place{name_}));
    }
    if (ToFileInfo(at_path).id != info_.id) return Changed("it was replaced by another file");
    return {};
  }

  void Hint(AccessHint hint, uint64_t offset, uint64_t length) const override {
    int advice = POSIX_FADV_NORMAL;
    switch (hint) {
      case AccessHint::kSequential: advice = POSIX_FADV_SEQUENTIAL; break;
      case AccessHint::kRandom: advice = POSIX_FADV_RANDOM; break;
      case AccessHint::kWillNeed: advice = POSIX_FADV_WILLNEED; break;
      case AccessHint::kDontNeed: advice = POSIX_FADV_DONTNEED; break;
    }
    (void)::posix_fadvise(fd_.get(), static_cast<off_t>(offset), static_cast<off_t>(length), advice);
  }

  [[nodiscard]] const FileInfo& info() const override { return info_; }
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] int fd() const override { return fd_.get(); }

 private:
  [[nodiscard]] tl::unexpected<Error> Changed(const std::string& what) const {
    return Fail(Place{name_}, ErrorKind::kMismatch, "changed since it was opened: " + what);
  }

  const SystemCalls& calls_;
  UniqueFd fd_;
  std::string name_;
  FileInfo info_;
};

}  // namespace

Result<std::unique_ptr<ReadFile>> NewPosixReadFile(const SystemCalls& calls, UniqueFd fd,
                                                   const std::filesystem::path& path) {
  DCPCTL_ASSIGN(const FileInfo info, StatFd(calls, fd.get(), path.string()));
  if (info.type != FileType::kRegular) {
    return Fail(Place{path.string()}, ErrorKind::kUnsupported,
                "is a " + std::string(FileTypeName(info.type)) + ", expected a regular file");
  }
  return std::make_unique<PosixReadFile>(calls, std::move(fd), path, info);
}

}  // namespace dcpctl::io
