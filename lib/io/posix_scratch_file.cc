#include "io/posix_scratch_file.h"

#include <atomic>
#include <cerrno>
#include <string>

#include "base/result.h"
#include "io/errno_text.h"
#include "io/publish.h"
#include "io/transfer.h"

namespace dcpctl::io {
namespace {

constexpr mode_t kOwnerOnly = 0600;

class PosixScratchFile final : public ScratchFile {
 public:
  PosixScratchFile(const SystemCalls& calls, UniqueFd fd, std::string name)
      : calls_(calls), fd_(std::move(fd)), name_(std::move(name)) {}

  Result<void> ReadAt(uint64_t offset, std::span<std::byte> out) const override {
    DCPCTL_TRY(CheckReadRange(offset, out.size(), size(), name_));
    DCPCTL_ASSIGN(const uint64_t done, ReadFull(calls_, fd_.get(), offset, out, name_));
    if (done == out.size()) return {};
    return Fail(Place{name_, offset + done}, ErrorKind::kIo, "scratch file has lost bytes that were written to it");
  }

  Result<void> WriteAt(uint64_t offset, std::span<const std::byte> bytes) override {
    DCPCTL_TRY(WriteFull(calls_, fd_.get(), offset, bytes, name_));
    if (!bytes.empty() && offset + bytes.size() > size()) size_.store(offset + bytes.size());
    return {};
  }

  [[nodiscard]] uint64_t size() const override { return size_.load(); }
  [[nodiscard]] const std::string& name() const override { return name_; }

 private:
  const SystemCalls& calls_;
  UniqueFd fd_;
  std::string name_;
  std::atomic<uint64_t> size_ = 0;
};

Result<UniqueFd> OpenUnlinked(const SystemCalls& calls, const std::string& directory, const std::string& name) {
  DCPCTL_ASSIGN(const UniqueFd parent, OpenAt(calls, AT_FDCWD, directory, O_PATH | O_DIRECTORY, 0, directory));
  DCPCTL_ASSIGN(FreshFile fresh, CreateFresh(calls, parent.get(), "dcpctl-scratch", kOwnerOnly, name));
  if (calls.UnlinkAt(parent.get(), fresh.name.c_str(), 0) != 0) {
    return Fail(ErrorFromErrno(errno, "remove the name of a temporary file", Place{name}));
  }
  return std::move(fresh.fd);
}

}  // namespace

Result<std::unique_ptr<ScratchFile>> NewPosixScratchFile(const SystemCalls& calls,
                                                         const std::filesystem::path& directory) {
  const std::string path = directory.empty() ? "." : directory.string();
  const std::string name = "scratch file in " + path;
  const int nameless = calls.OpenAt(AT_FDCWD, path.c_str(), O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, kOwnerOnly);
  UniqueFd fd(calls, nameless);
  // Whatever the reason was, the second way tells it better or works.
  if (!fd) {
    DCPCTL_ASSIGN(fd, OpenUnlinked(calls, path, name));
  }
  return std::make_unique<PosixScratchFile>(calls, std::move(fd), name);
}

}  // namespace dcpctl::io
