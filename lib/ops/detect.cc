#include "ops/detect.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <string>
#include <vector>

#include "base/quote.h"
#include "base/result.h"
#include "dcp/naming.h"
#include "dcpctl/survey.h"
#include "io/file_system.h"
#include "text/numbers.h"
#include "torch/legacy.h"
#include "zip/read.h"

namespace dcpctl {
namespace {

constexpr uint64_t kHeadBytes = 1024;
constexpr std::string_view kZipMagic = "PK\x03\x04";
// A safetensors header is this long at most; its length comes first, in eight bytes.
constexpr uint64_t kMaxSafetensorsHeader = 100'000'000;
constexpr uint64_t kTarMagicOffset = 257;
constexpr size_t kMostListed = 8;

bool ContainsNoCase(std::string_view text, std::string_view word) {
  const auto equal = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  return std::search(text.begin(), text.end(), word.begin(), word.end(), equal) != text.end();
}

bool LooksLikeSafetensors(std::string_view head, uint64_t size) {
  if (head.size() < 9 || head[8] != '{') return false;
  uint64_t header = 0;
  std::memcpy(&header, head.data(), sizeof(header));
  return header <= kMaxSafetensorsHeader && header <= size - sizeof(header);
}

Result<Identity> IdentifyZip(const io::ReadFile& file) {
  const auto archive = zip::ReadDirectory(file, 0, file.size(), Limits{});
  // A disk that cannot be read is no damage of the file.
  if (!archive && archive.error().kind() == ErrorKind::kIo) return Fail(archive.error());
  if (!archive)
    return Identity{SourceKind::kTruncatedZip, "a zip archive that is truncated or damaged",
                    "the directory at its end cannot be read: " + archive.error().Text()};
  const auto has = [&](std::string_view name) {
    return std::any_of(archive->entries.begin(), archive->entries.end(), [&](const zip::Entry& e) {
      return std::string_view(e.name).substr(e.name.find('/') + 1) == name;
    });
  };
  if (has("constants.pkl"))
    return Identity{SourceKind::kTorchScript, "a TorchScript archive",
                    "save the state dict of the module with torch.save"};
  if (has("data.pkl")) return Identity{SourceKind::kTorchZip, "a torch.save file", ""};
  return Identity{SourceKind::kForeignZip, "a zip archive that torch.save did not write", ""};
}

// A file of items: whole archives one after the other, each with a directory of its own.
bool IsDataFileName(const std::string& name) { return std::string_view(name).ends_with(dcp::kDataSuffix); }

Identity IdentifyText(std::string_view head) {
  if (head.starts_with("version https://git-lfs"))
    return {SourceKind::kGitLfsPointer, "a Git LFS pointer, not the file itself", "fetch the file with `git lfs pull`"};
  if (ContainsNoCase(head, "<!doctype html") || ContainsNoCase(head, "<html"))
    return {SourceKind::kHtml, "an HTML page", "a download saved the web page instead of the file"};
  return {SourceKind::kOtherFile, "no checkpoint of a kind that is known", ""};
}

Result<Identity> IdentifyFile(io::FileSystem& files, const std::filesystem::path& path) {
  DCPCTL_ASSIGN(const auto file, files.OpenRead(path));
  if (file->size() == 0)
    return Identity{SourceKind::kEmptyFile, "an empty file", "a download or save stopped before its first byte"};
  DCPCTL_ASSIGN(const auto bytes, ReadRange(*file, 0, std::min(file->size(), kHeadBytes)));
  const std::string_view head(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (IsDataFileName(path.filename().string())) {
    return Identity{SourceKind::kDataFile, "one data file of a DCP checkpoint",
                    "give the directory that holds it and .metadata"};
  }
  if (head.starts_with(kZipMagic)) return IdentifyZip(*file);
  if (torch::IsLegacyStream(bytes))
    return Identity{SourceKind::kTorchLegacy, "a torch.save file in the stream form of PyTorch before 1.6", ""};
  if (head.size() > kTarMagicOffset + 5 && head.substr(kTarMagicOffset, 5) == "ustar") {
    return Identity{SourceKind::kTorchTar,
                    "a tar archive, the form of torch.save before PyTorch 0.2 if PyTorch wrote it",
                    "load it with an old PyTorch and save it again"};
  }
  if (LooksLikeSafetensors(head, file->size())) return Identity{SourceKind::kSafetensorsFile, "a safetensors file", ""};
  if (head.size() > 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5) {
    const bool metadata = path.filename() == dcp::kMetadataName;
    return Identity{SourceKind::kBarePickle, metadata ? "the metadata of a DCP checkpoint" : "a bare pickle",
                    metadata ? "give the directory that holds it" : ""};
  }
  return IdentifyText(head);
}

// `model_world_size_8_rank_3.pt`, `optim.rank_3.pth`, `x.rank3.pt`.
bool IsPerRankName(const std::string& name) {
  if (!name.ends_with(".pt") && !name.ends_with(".pth") && !name.ends_with(".bin")) return false;
  const size_t rank = name.rfind("rank");
  if (rank == std::string::npos || rank + 4 >= name.size()) return false;
  const size_t digit = name[rank + 4] == '_' ? rank + 5 : rank + 4;
  return digit < name.size() && std::isdigit(static_cast<unsigned char>(name[digit])) != 0;
}

// Bytes of the files right in a folder, for people who have to choose one.
uint64_t BytesIn(io::FileSystem& files, const std::filesystem::path& folder,
                 const std::vector<io::DirectoryEntry>& listing) {
  uint64_t bytes = 0;
  for (const io::DirectoryEntry& entry : listing) {
    const auto info = files.Stat(folder / entry.name);
    if (info && info->type == io::FileType::kRegular) bytes += info->bytes;
  }
  return bytes;
}

// The folders below that are checkpoints, each with its size.
std::vector<std::string> CheckpointsBelow(io::FileSystem& files, const std::filesystem::path& path,
                                          const std::vector<io::DirectoryEntry>& listing) {
  std::vector<std::string> found;
  for (const io::DirectoryEntry& entry : listing) {
    if (entry.type != io::FileType::kDirectory) continue;
    const auto below = files.ListDirectory(path / entry.name);
    if (!below) continue;  // not ours to read
    const bool is_checkpoint = std::any_of(below->begin(), below->end(), [](const io::DirectoryEntry& e) {
      return e.name == dcp::kMetadataName || dcp::ParseRankMetadataName(e.name);
    });
    if (is_checkpoint)
      found.push_back(Escape(entry.name) + " (" + text::FormatBytes(BytesIn(files, path / entry.name, *below)) + ")");
  }
  return found;
}

std::string JoinSome(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size() && i < kMostListed; ++i) text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kMostListed) text += " and " + std::to_string(names.size() - kMostListed) + " more";
  return text;
}

Result<Identity> IdentifyDirectory(io::FileSystem& files, const std::filesystem::path& path) {
  DCPCTL_ASSIGN(const auto listing, files.ListDirectory(path));
  const auto count = [&](const auto& matches) {
    return std::count_if(listing.begin(), listing.end(), [&](const io::DirectoryEntry& e) { return matches(e.name); });
  };
  if (listing.empty()) return Identity{SourceKind::kEmptyDirectory, "an empty directory", ""};
  if (count([](const std::string& n) { return n == dcp::kMetadataName; }) > 0)
    return Identity{SourceKind::kDcp, "a DCP checkpoint", ""};
  if (count([](const std::string& n) { return dcp::ParseRankMetadataName(n).has_value(); }) > 0)
    return Identity{SourceKind::kDcpRankLocal, "a DCP checkpoint with metadata of each rank", ""};
  if (count(IsDataFileName) > 0 || count([](const std::string& n) { return n == dcp::kUnfinishedMetadataName; }) > 0) {
    return Identity{SourceKind::kUnfinished, "an unfinished save: data files without .metadata, which is written last",
                    "use an earlier checkpoint; the save was stopped, or is still running"};
  }
  if (count([](const std::string& n) { return n.ends_with(".safetensors"); }) > 0)
    return Identity{SourceKind::kSafetensorsDir, "a directory of safetensors files", ""};
  if (count(IsPerRankName) > 0) {
    return Identity{
        SourceKind::kPerRankTorch, "a directory of torch.save files, one for each rank, which is not DCP",
        "they do not say how tensors were cut, so they cannot be joined without the program that wrote them"};
  }
  const std::vector<std::string> below = CheckpointsBelow(files, path, listing);
  if (!below.empty())
    return Identity{SourceKind::kCheckpointParent, "no checkpoint itself, but a folder of checkpoints",
                    "give one of them: " + JoinSome(below)};
  return Identity{SourceKind::kOtherDirectory, "a directory without .metadata",
                  "a DCP checkpoint has a file of that name"};
}

}  // namespace

namespace ops {

Result<Identity> Identify(io::FileSystem& files, const std::filesystem::path& path) {
  const auto info = files.Stat(path);
  if (!info && info.error().kind() == ErrorKind::kNotFound) {
    return Fail(Place{.file = path.string()}, ErrorKind::kNotFound, "there is nothing here, expected a checkpoint");
  }
  if (!info) return Fail(info.error());
  return info->type == io::FileType::kDirectory ? IdentifyDirectory(files, path) : IdentifyFile(files, path);
}

Result<void> CheckKind(io::FileSystem& files, const std::filesystem::path& source, bool (*accepts)(SourceKind),
                       const std::string& command, const std::string& expected) {
  DCPCTL_ASSIGN(const Identity identity, Identify(files, source));
  if (accepts(identity.kind)) return {};
  return Fail(Error(ErrorKind::kUnsupported, Place{.file = source.string()},
                    "this is " + identity.description + ", " + command + " needs " + expected)
                  .Advise(identity.advice));
}

bool IsDcp(SourceKind kind) { return kind == SourceKind::kDcp || kind == SourceKind::kDcpRankLocal; }

}  // namespace ops

Result<Identity> Identify(const std::filesystem::path& path) {
  const auto files = io::NewPosixFileSystem();
  return ops::Identify(*files, path);
}

}  // namespace dcpctl
