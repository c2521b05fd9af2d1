#include "io/staged_directory.h"

#include <utility>
#include <vector>

#include "base/quote.h"
#include "base/result.h"
#include "io/publish.h"

namespace dcpctl::io {
namespace {

constexpr int kMaxFolderAttempts = 100;

std::filesystem::path ParentOf(const std::filesystem::path& target) {
  return target.has_parent_path() ? target.parent_path() : std::filesystem::path(".");
}

// A trailing slash is no part of the name.
std::filesystem::path WithoutSlash(std::filesystem::path target) {
  return target.has_filename() ? target : target.parent_path();
}

}  // namespace

Result<void> RemoveTree(FileSystem& files, const std::filesystem::path& directory) {
  if (files.RemoveFile(directory)) return {};  // a link
  DCPCTL_ASSIGN(const auto listing, files.ListDirectory(directory, {.recursive = true}));
  // Names are sorted: ".metadata" comes before the files it tells of, so that what is left of a checkpoint when this is
  // cut off is none any more, or all of it; and what is in a folder comes after it.
  for (const DirectoryEntry& entry : listing) {
    if (entry.type != FileType::kDirectory) DCPCTL_TRY(files.RemoveFile(directory / entry.name));
  }
  for (auto entry = listing.rbegin(); entry != listing.rend(); ++entry) {
    if (entry->type == FileType::kDirectory) DCPCTL_TRY(files.RemoveDirectory(directory / entry->name));
  }
  return files.RemoveDirectory(directory);
}

Result<StagedDirectory> StagedDirectory::Make(FileSystem& files, const std::filesystem::path& target) {
  const std::filesystem::path name = WithoutSlash(target);
  for (int attempt = 0; attempt < kMaxFolderAttempts; ++attempt) {
    std::filesystem::path path = ParentOf(name) / FreshName(name.filename().string());
    DCPCTL_ASSIGN(const bool made, files.MakeDirectory(path));
    if (made) return StagedDirectory(files, name, std::move(path));
  }
  return Fail(Place{.file = target.string()}, ErrorKind::kIo, "no free temporary name beside it");
}

Result<std::optional<StagedDirectory>> StagedDirectory::MakeSame(FileSystem& files, const std::filesystem::path& target,
                                                                 const std::filesystem::path& path) {
  DCPCTL_ASSIGN(const bool made, files.MakeDirectory(path));
  if (!made) return std::optional<StagedDirectory>();
  return std::optional(StagedDirectory(files, WithoutSlash(target), path));
}

StagedDirectory::StagedDirectory(StagedDirectory&& other) noexcept
    : files_(other.files_),
      target_(std::move(other.target_)),
      path_(std::move(other.path_)),
      staged_(std::exchange(other.staged_, false)) {}

StagedDirectory::~StagedDirectory() {
  if (staged_) (void)RemoveTree(*files_, path_).has_value();
}

Result<void> StagedDirectory::Replace() {
  DCPCTL_ASSIGN(const bool exchanged, files_->Exchange(path_, target_));
  if (exchanged) return {};
  std::filesystem::path old = ParentOf(target_) / FreshName(target_.filename().string());
  DCPCTL_TRY(files_->Rename(target_, old, false));
  auto published = files_->Rename(path_, target_, false);
  if (!published) {
    (void)files_->Rename(old, target_, false).has_value();
    return published;
  }
  path_ = std::move(old);
  return {};
}

Result<std::optional<Leftover>> StagedDirectory::Commit(bool replace) {
  DCPCTL_TRY(files_->SyncDirectory(path_));
  // Of what exists, this takes the place of an empty directory alone; the other says why nothing else will do.
  auto published = files_->Rename(path_, target_, true);
  if (!published) published = files_->Rename(path_, target_, false);
  const bool replaces = !published && replace && published.error().kind() == ErrorKind::kExists;
  if (replaces) published = Replace();
  if (!published) return Fail(std::move(published).error());
  staged_ = false;
  auto synced = files_->SyncDirectory(ParentOf(target_));
  if (!replaces) {
    DCPCTL_TRY(std::move(synced));
    return std::nullopt;
  }
  if (!synced) return Fail(std::move(synced).error().In("what it replaced is now " + Quote(path_.string())));
  auto removed = RemoveTree(*files_, path_);
  if (removed) return std::nullopt;
  return Leftover{.path = path_, .why = std::move(removed).error()};
}

}  // namespace dcpctl::io
