#include "io/posix_write_file.h"

#include <cerrno>
#include <utility>

#include "base/result.h"
#include "io/errno_text.h"
#include "io/publish.h"
#include "io/transfer.h"

namespace dcpctl::io {
namespace {

// All that say "not this pair or range", and none that says "this device is failing". EAGAIN is ZFS's answer for a
// range that is not on disk yet.
bool MeansCopyInstead(int err) {
  switch (err) {
    case EBADF:
    case EINVAL:
    case EOPNOTSUPP:
    case ENOTTY:
    case EXDEV:
    case ETXTBSY:
    case ENOSYS:
    case EPERM:
    case EAGAIN: return true;
    default: return false;
  }
}

class PosixWriteFile final : public WriteFile {
 public:
  PosixWriteFile(const SystemCalls& calls, UniqueFd directory, FreshFile fresh, FileId id, std::filesystem::path target)
      : calls_(calls),
        directory_(std::move(directory)),
        fd_(std::move(fresh.fd)),
        temp_name_(std::move(fresh.name)),
        id_(id),
        target_(std::move(target)),
        target_name_(target_.filename().string()),
        temp_path_(target_.parent_path() / temp_name_),
        name_(target_.string()) {}

  ~PosixWriteFile() override {
    if (state_ != State::kPublished && TempIsOurs()) (void)calls_.UnlinkAt(directory_.get(), temp_name_.c_str(), 0);
  }

  Result<void> WriteAt(uint64_t offset, std::span<const std::byte> bytes) override {
    return WriteFull(calls_, fd_.get(), offset, bytes, name_);
  }

  Result<void> Allocate(uint64_t bytes) override;
  Result<bool> CloneRange(const ReadFile& source, uint64_t source_offset, uint64_t offset, uint64_t length) override;

  void StartWriteback(uint64_t offset, uint64_t length) override {
    (void)::sync_file_range(fd_.get(), static_cast<off_t>(offset), static_cast<off_t>(length), SYNC_FILE_RANGE_WRITE);
  }

  Result<void> Commit(bool replace) override;

  [[nodiscard]] const std::filesystem::path& target() const override { return target_; }
  [[nodiscard]] const std::filesystem::path& temp_path() const override { return temp_path_; }
  [[nodiscard]] int fd() const override { return fd_.get(); }

 private:
  enum class State : uint8_t { kOpen, kFailed, kPublished };

  // Whether the temporary name still leads to the file made here.
  [[nodiscard]] bool TempIsOurs() const {
    struct stat status {};
    return ::fstatat(directory_.get(), temp_name_.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           ToFileInfo(status).id == id_;
  }

  const SystemCalls& calls_;
  UniqueFd directory_;
  UniqueFd fd_;
  std::string temp_name_;
  FileId id_;
  std::filesystem::path target_;
  std::string target_name_;
  std::filesystem::path temp_path_;
  std::string name_;  // the target's, for messages
  State state_ = State::kOpen;
};

Result<void> PosixWriteFile::Allocate(uint64_t bytes) {
  const auto length = static_cast<off_t>(bytes);
  int err = length < 0 ? EFBIG : 0;
  while (err == 0 && calls_.FTruncate(fd_.get(), length) != 0) err = errno == EINTR ? 0 : errno;
  if (err != 0) return Fail(ErrorFromErrno(err, "set the size to " + std::to_string(bytes), Place{name_}));
  if (bytes == 0) return {};
  // Not posix_fallocate: where there is no support it writes zeros.
  do {
    err = calls_.FAllocate(fd_.get(), 0, length) == 0 ? 0 : errno;
  } while (err == EINTR);
  if (err == 0 || err == EOPNOTSUPP || err == ENOSYS) return {};
  if (err != ENOSPC && err != EDQUOT) return Fail(ErrorFromErrno(err, "reserve room", Place{name_}));
  const std::string what = "no space: needs " + std::to_string(bytes) + " bytes";
  return Fail(Error(ErrorKind::kIo, Place{name_}, what).Advise(ErrorFromErrno(err, "").advice()));
}

Result<bool> PosixWriteFile::CloneRange(const ReadFile& source, uint64_t source_offset, uint64_t offset,
                                        uint64_t length) {
  if (length == 0) return true;  // to the kernel 0 means "to the end of the file"
  if (source.fd() < 0) return false;
  int err = 0;
  do {
    err = calls_.CloneRange(fd_.get(), source.fd(), source_offset, length, offset) == 0 ? 0 : errno;
  } while (err == EINTR);
  if (err == 0) return true;
  if (MeansCopyInstead(err)) return false;
  return Fail(ErrorFromErrno(err, "clone from " + source.name(), Place{name_, offset}));
}

Result<void> PosixWriteFile::Commit(bool replace) {
  if (state_ != State::kOpen) return Fail(Place{name_}, ErrorKind::kInternal, "committed a second time");
  state_ = State::kFailed;
  if (calls_.FSync(fd_.get()) != 0) return Fail(ErrorFromErrno(errno, "sync", Place{name_}));
  if (!TempIsOurs()) {
    return Fail(Place{name_}, ErrorKind::kIo, "its temporary file " + temp_name_ + " was removed or replaced");
  }
  const Name from{directory_.get(), temp_name_};
  const Name to{directory_.get(), target_name_};
  DCPCTL_TRY(replace ? RenameOver(calls_, from, to, name_) : RenameNew(calls_, from, to, name_));
  state_ = State::kPublished;
  auto synced = SyncDirectoryFd(calls_, directory_.get(), name_);
  if (synced) return {};
  return Fail(std::move(synced).error().In("the file is complete and in place, but may not survive a crash"));
}

}  // namespace

Result<std::unique_ptr<WriteFile>> NewPosixWriteFile(const SystemCalls& calls, const std::filesystem::path& target) {
  const std::string name = target.string();
  const std::string stem = target.filename().string();
  if (stem.empty() || stem == "." || stem == "..") {
    return Fail(Place{name}, ErrorKind::kUsage, "is not the name of a file");
  }
  const std::string parent = target.has_parent_path() ? target.parent_path().string() : ".";
  DCPCTL_ASSIGN(UniqueFd directory, OpenAt(calls, AT_FDCWD, parent, O_RDONLY | O_DIRECTORY, 0, parent));
  DCPCTL_ASSIGN(FreshFile fresh, CreateFresh(calls, directory.get(), stem, 0666, name));
  auto info = StatFd(calls, fresh.fd.get(), name);
  if (!info) {
    (void)calls.UnlinkAt(directory.get(), fresh.name.c_str(), 0);
    return Fail(std::move(info).error());
  }
  return std::make_unique<PosixWriteFile>(calls, std::move(directory), std::move(fresh), info->id, target);
}

}  // namespace dcpctl::io
