// A directory that appears under its name only when it is complete: the counterpart of WriteFile for outputs
// of several files.
#pragma once

#include <filesystem>
#include <optional>

#include "dcpctl/error.h"
#include "io/file_system.h"

namespace dcpctl::io {

// What was replaced and could not be removed.
struct Leftover {
  std::filesystem::path path;  // where it is now
  Error why;
};

// One thread. The destructor removes what was staged and not committed. The file system must outlive it.
class StagedDirectory {
 public:
  // Makes `.NAME.XXXXXX.tmp` beside `target`.
  static Result<StagedDirectory> Make(FileSystem& files, const std::filesystem::path& target);
  // Makes `path`, the path of one that another process made for the same target, on a disk where it is not there.
  // Nothing where it is.
  static Result<std::optional<StagedDirectory>> MakeSame(FileSystem& files, const std::filesystem::path& target,
                                                         const std::filesystem::path& path);
  StagedDirectory(StagedDirectory&& other) noexcept;
  StagedDirectory& operator=(StagedDirectory&&) = delete;
  ~StagedDirectory();

  // Where to put the files.
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  // Gives the directory its name; its files must be synced. An existing empty directory is replaced. With
  // `replace` so is a full one, which changes names with this one and is then removed; where the file system cannot
  // do that at once, there is neither under the name for a moment. Without, it is kExists and stays. When only the
  // sync of the parent fails, both are there, and the error says where the old one is: nobody knows which of the two
  // has the name on the disk. What it replaced and cannot be removed is no failure, and is the result.
  Result<std::optional<Leftover>> Commit(bool replace);

 private:
  // Puts it where a full directory is; path_ is then where that one went.
  Result<void> Replace();
  StagedDirectory(FileSystem& files, std::filesystem::path target, std::filesystem::path path)
      : files_(&files), target_(std::move(target)), path_(std::move(path)) {}

  FileSystem* files_;
  std::filesystem::path target_;
  std::filesystem::path path_;
  bool staged_ = true;
};

// Removes a directory and what is in it; symbolic links are removed, not followed. It goes on until there is something
// that cannot be removed. What is left then has no metadata of files that are gone.
Result<void> RemoveTree(FileSystem& files, const std::filesystem::path& directory);

}  // namespace dcpctl::io
