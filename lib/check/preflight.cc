#include "check/preflight.h"

#include <optional>
#include <string>

#include "base/quote.h"
#include "base/result.h"
#include "dcp/naming.h"

namespace dcpctl::check {
namespace {

std::filesystem::path FolderOf(const std::filesystem::path& target) {
  return target.has_parent_path() ? target.parent_path() : std::filesystem::path(".");
}

auto Overlap(const std::filesystem::path& target, const std::filesystem::path& source, const std::string& how) {
  return Fail(Place{.file = target.string()}, ErrorKind::kUsage,
              "the target " + how + " " + Quote(source.string()) + ", expected a place apart from it");
}

// The folder that will hold it is there, and it has nothing to do with the source.
Result<void> CheckApart(io::FileSystem& files, const std::filesystem::path& source,
                        const std::filesystem::path& target) {
  if (target.empty() || target.filename() == "." || target.filename() == "..")
    return Fail(Place{.file = target.string()}, ErrorKind::kUsage, "the target is no name");
  auto folder = files.Stat(FolderOf(target));
  if (!folder) return Fail(std::move(folder).error().In("folder of the target " + Quote(target.string())));
  if (folder->type != io::FileType::kDirectory) {
    return Fail(Place{.file = target.string()}, ErrorKind::kNotFound,
                Quote(FolderOf(target).string()) + " is a " + std::string(io::FileTypeName(folder->type)) +
                    ", expected a folder");
  }
  DCPCTL_ASSIGN(const bool same, io::SameFile(files, source, target));
  if (same) return Overlap(target, source, "is the source");
  DCPCTL_ASSIGN(const bool inside, io::IsInside(files, target, source));
  if (inside) return Overlap(target, source, "lies in the source");
  DCPCTL_ASSIGN(const bool around, io::IsInside(files, source, target));
  if (around) return Overlap(target, source, "holds the source");
  return {};
}

// Nothing, when there is nothing at the path.
Result<std::optional<io::FileType>> ExistingType(io::FileSystem& files, const std::filesystem::path& path) {
  auto existing = files.Stat(path);
  if (existing) return std::optional(existing->type);
  if (existing.error().kind() == ErrorKind::kNotFound) return std::optional<io::FileType>();
  return Fail(std::move(existing).error());
}

auto InTheWay(const std::filesystem::path& target, io::FileType type, const std::string& expected) {
  return Fail(Place{.file = target.string()}, ErrorKind::kExists,
              "is a " + std::string(io::FileTypeName(type)) + ", expected " + expected + " or nothing");
}

auto Exists(const std::filesystem::path& target) {
  return Fail(Place{.file = target.string()}, ErrorKind::kExists, "already exists (use --force to replace it)");
}

// Folders are judged by what is in them.
bool BelongsToCheckpoint(const io::DirectoryEntry& entry) {
  return entry.type == io::FileType::kDirectory || entry.name == dcp::kMetadataName ||
         entry.name == dcp::kUnfinishedMetadataName || entry.name.ends_with(dcp::kDataSuffix) ||
         dcp::ParseRankMetadataName(entry.name).has_value();
}

// For a target that has nothing to do with its source.
Result<TargetKind> KindOfTarget(io::FileSystem& files, const std::filesystem::path& target, bool force) {
  DCPCTL_ASSIGN(const auto existing, ExistingType(files, target));
  if (!existing) return TargetKind::kFile;
  if (*existing == io::FileType::kFifo || *existing == io::FileType::kCharDevice) return TargetKind::kStream;
  if (*existing != io::FileType::kRegular) return InTheWay(target, *existing, "a file");
  if (!force) return Exists(target);
  return TargetKind::kFile;
}

}  // namespace

Result<TargetKind> CheckTarget(io::FileSystem& files, const std::filesystem::path& source,
                               const std::filesystem::path& target, bool force) {
  if (target == "-") return TargetKind::kStandardOutput;
  if (!target.has_filename())
    return Fail(Place{.file = target.string()}, ErrorKind::kUsage, "the target is no file name");
  DCPCTL_TRY(CheckApart(files, source, target));
  return KindOfTarget(files, target, force);
}

Result<TargetKind> CheckMetadataTarget(io::FileSystem& files, const std::filesystem::path& source,
                                       const std::filesystem::path& target, bool force) {
  const bool is_name = target != "-" && target.has_filename();
  if (!is_name) return CheckTarget(files, source, target, force);
  DCPCTL_ASSIGN(const bool inside, io::IsInside(files, target, source));
  if (!inside) return CheckTarget(files, source, target, force);
  DCPCTL_ASSIGN(const auto existing, ExistingType(files, target));
  if (!existing) return TargetKind::kFile;
  return Fail(Place{.file = target.string()}, ErrorKind::kExists,
              "already exists in the checkpoint, which is never changed, expected a new name");
}

Result<void> CheckDirectoryTarget(io::FileSystem& files, const std::filesystem::path& source,
                                  const std::filesystem::path& target, bool force) {
  const std::filesystem::path name = target.has_filename() ? target : target.parent_path();
  DCPCTL_TRY(CheckApart(files, source, name));
  DCPCTL_ASSIGN(const auto existing, ExistingType(files, name));
  if (!existing) return {};
  if (*existing != io::FileType::kDirectory) return InTheWay(target, *existing, "a directory");
  DCPCTL_ASSIGN(const auto listing, files.ListDirectory(name, {.recursive = true}));
  if (listing.empty()) return {};
  if (!force) return Exists(target);
  for (const io::DirectoryEntry& entry : listing) {
    if (BelongsToCheckpoint(entry)) continue;
    return Fail(
        Place{.file = (name / entry.name).string()}, ErrorKind::kExists,
        "is no part of a DCP checkpoint, and --force would remove it, expected a directory that holds nothing else");
  }
  return {};
}

Result<void> CheckSpace(io::FileSystem& files, const std::filesystem::path& target, uint64_t bytes) {
  DCPCTL_ASSIGN(const uint64_t free, files.FreeBytes(FolderOf(target)));
  if (free >= bytes) return {};
  return Fail(Place{.file = target.string()}, ErrorKind::kIo,
              "no space: " + std::to_string(free) + " bytes are free, expected the " + std::to_string(bytes) +
                  " that the result has");
}

}  // namespace dcpctl::check
