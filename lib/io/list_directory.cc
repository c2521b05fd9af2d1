#include "io/list_directory.h"

#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/result.h"
#include "io/errno_text.h"
#include "io/transfer.h"

namespace dcpctl::io {
namespace {

// Each level holds one descriptor open.
constexpr unsigned kMaxDepth = 64;

struct DirCloser {
  void operator()(DIR* stream) const { ::closedir(stream); }
};
using DirStream = std::unique_ptr<DIR, DirCloser>;

class Lister {
 public:
  Lister(const SystemCalls& calls, const std::filesystem::path& root, const ListOptions& options)
      : calls_(calls), root_(root.string()), options_(options) {}

  Result<void> List(UniqueFd directory, const std::string& prefix, unsigned depth) {
    if (depth > kMaxDepth) {
      return Fail(Place{PathOf(prefix)}, ErrorKind::kLimit,
                  "is nested deeper than " + std::to_string(kMaxDepth) + " directories");
    }
    const int fd = directory.get();
    const DirStream stream(::fdopendir(fd));
    if (!stream) return Fail(ErrorFromErrno(errno, "list", Place{PathOf(prefix)}));
    (void)directory.Release();  // the stream closes it
    for (;;) {
      errno = 0;
      const dirent* const found = ::readdir(stream.get());
      if (found == nullptr && errno != 0) return Fail(ErrorFromErrno(errno, "list", Place{PathOf(prefix)}));
      if (found == nullptr) return {};
      const std::string name = found->d_name;
      if (name != "." && name != "..") DCPCTL_TRY(Add(fd, prefix, name, depth));
    }
  }

  std::vector<DirectoryEntry> Take() && {
    std::sort(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    return std::move(entries_);
  }

 private:
  Result<void> Add(int directory, const std::string& prefix, const std::string& name, unsigned depth) {
    if (entries_.size() >= options_.limit) {
      return Fail(Place{root_}, ErrorKind::kLimit,
                  "holds more than " + std::to_string(options_.limit) + " files and directories");
    }
    // Not d_type: not every file system fills it in.
    struct stat status {};
    if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) return {};  // gone since it was listed
      return Fail(ErrorFromErrno(errno, "read attributes", Place{PathOf(prefix + name)}));
    }
    const FileType type = ToFileInfo(status).type;
    entries_.push_back({.name = prefix + name, .type = type});
    if (!options_.recursive || type != FileType::kDirectory) return {};
    DCPCTL_ASSIGN(UniqueFd inner,
                  OpenAt(calls_, directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, PathOf(prefix + name)));
    return List(std::move(inner), prefix + name + "/", depth + 1);
  }

  [[nodiscard]] std::string PathOf(const std::string& relative) const {
    return relative.empty() ? root_ : root_ + "/" + relative;
  }

  const SystemCalls& calls_;
  std::string root_;
  const ListOptions& options_;
  std::vector<DirectoryEntry> entries_;
};

}  // namespace

Result<std::vector<DirectoryEntry>> ListPosixDirectory(const SystemCalls& calls, const std::filesystem::path& path,
                                                       const ListOptions& options) {
  const std::string name = path.string();
  DCPCTL_ASSIGN(UniqueFd directory, OpenAt(calls, AT_FDCWD, name, O_RDONLY | O_DIRECTORY, 0, name));
  Lister lister(calls, path, options);
  DCPCTL_TRY(lister.List(std::move(directory), "", 1));
  return std::move(lister).Take();
}

}  // namespace dcpctl::io
