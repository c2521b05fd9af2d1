#include "io/union_file_system.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/checked.h"
#include "base/quote.h"
#include "base/result.h"
#include "base/wire.h"

namespace dcpctl::io {
namespace {

namespace fs = std::filesystem;

FileInfo InfoOf(const UnionFile& file) {
  return {.type = FileType::kRegular, .bytes = file.seen.bytes, .mtime_ns = file.seen.mtime_ns, .id = {}};
}

// On the disk of another process's node. Whoever reads it for us opens it by its size and time, and looks whether they
// are still the same each time.
class FetchedFile final : public ReadFile {
 public:
  FetchedFile(std::string path, const UnionFile& file, const FetchBytes& fetch, const LandBytes& land)
      : path_(std::move(path)), file_(file), info_(InfoOf(file)), fetch_(fetch), land_(land) {}

  Result<void> ReadAt(uint64_t offset, std::span<std::byte> out) const override {
    DCPCTL_TRY(CheckRange(offset, out.size()));
    return out.empty() ? Result<void>() : fetch_(file_.owner, file_.seen.name, offset, out);
  }
  Result<std::optional<uint32_t>> LandAt(uint64_t offset, const DevicePart& to) const override {
    if (!land_) return std::nullopt;
    DCPCTL_TRY(CheckRange(offset, to.bytes));
    return land_(file_.owner, file_.seen.name, offset, to);
  }
  [[nodiscard]] const std::string& name() const override { return path_; }
  [[nodiscard]] const FileInfo& info() const override { return info_; }
  // Asks for no bytes, and is told when the file is not what it was.
  Result<void> CheckUnchanged() const override { return fetch_(file_.owner, file_.seen.name, 0, {}); }
  void Hint(AccessHint /*hint*/, uint64_t /*offset*/, uint64_t /*length*/) const override {}
  [[nodiscard]] int fd() const override { return -1; }

 private:
  Result<void> CheckRange(uint64_t offset, uint64_t bytes) const {
    if (InRange(offset, bytes, info_.bytes)) return {};
    return Fail(Place{path_, offset}, ErrorKind::kCorrupt,
                std::to_string(bytes) + " bytes are wanted, the file has " + std::to_string(info_.bytes));
  }

  const std::string path_;
  const UnionFile& file_;
  const FileInfo info_;
  const FetchBytes& fetch_;
  const LandBytes& land_;
};

class UnionFileSystem final : public FileSystem {
 public:
  UnionFileSystem(FileSystem& here, fs::path folder, const UnionListing& listing, FetchBytes fetch, LandBytes land)
      : here_(here), folder_(std::move(folder)), listing_(listing), fetch_(std::move(fetch)), land_(std::move(land)) {}

  Result<FileInfo> Stat(const fs::path& path) override {
    const UnionFile* const file = Find(path);
    if (file != nullptr && !file->here) return InfoOf(*file);
    auto info = here_.Stat(path);
    // A folder that other nodes have.
    if (!info && info.error().kind() == ErrorKind::kNotFound && NameBelow(path) == "." && !listing_.empty())
      return FileInfo{.type = FileType::kDirectory, .id = {}};
    return info;
  }

  Result<std::vector<DirectoryEntry>> ListDirectory(const fs::path& path, const ListOptions& options) override {
    const auto folder = NameBelow(path);
    if (!folder || listing_.empty()) return here_.ListDirectory(path, options);
    const std::string prefix = *folder == "." ? "" : *folder + "/";
    std::map<std::string, FileType> entries;
    if (const auto own = here_.ListDirectory(path, options)) {
      for (const DirectoryEntry& entry : *own) entries[entry.name] = entry.type;
    }
    for (auto file = listing_.lower_bound(prefix); file != listing_.end() && file->first.starts_with(prefix); ++file)
      AddBelow(file->first.substr(prefix.size()), options.recursive, entries);
    std::vector<DirectoryEntry> listed;
    for (auto& [name, type] : entries) listed.push_back({.name = name, .type = type});
    return listed;
  }

  Result<fs::path> RealPath(const fs::path& path) override { return here_.RealPath(path); }
  Result<uint64_t> FreeBytes(const fs::path& path) override { return here_.FreeBytes(path); }

  Result<std::unique_ptr<ReadFile>> OpenRead(const fs::path& path) override {
    const UnionFile* const file = Find(path);
    return file == nullptr || file->here ? here_.OpenRead(path) : Fetched(path, *file);
  }
  Result<std::unique_ptr<ReadFile>> OpenBeneath(const fs::path& root, std::string_view relative) override {
    DCPCTL_TRY(CheckRelativeName(relative));
    const UnionFile* const file = Find(root / relative);
    return file == nullptr || file->here ? here_.OpenBeneath(root, relative) : Fetched(root / relative, *file);
  }

  Result<std::unique_ptr<WriteFile>> CreateTemp(const fs::path& target) override { return here_.CreateTemp(target); }
  Result<std::unique_ptr<Sink>> OpenStream(const fs::path& path) override { return here_.OpenStream(path); }
  Result<std::unique_ptr<ScratchFile>> OpenScratch(const fs::path& folder) override {
    return here_.OpenScratch(folder);
  }
  Result<void> Link(const ReadFile& source, const fs::path& to) override { return here_.Link(source, to); }
  Result<bool> MakeDirectory(const fs::path& path) override { return here_.MakeDirectory(path); }
  Result<void> SyncDirectory(const fs::path& path) override { return here_.SyncDirectory(path); }
  Result<void> Rename(const fs::path& from, const fs::path& to, bool replace) override {
    return here_.Rename(from, to, replace);
  }
  Result<bool> Exchange(const fs::path& a, const fs::path& b) override { return here_.Exchange(a, b); }
  Result<void> RemoveFile(const fs::path& path) override { return here_.RemoveFile(path); }
  Result<void> RemoveDirectory(const fs::path& path) override { return here_.RemoveDirectory(path); }

 private:
  // "." for the folder itself; nothing for what is not below it. As the paths are written: nobody asks otherwise.
  std::optional<std::string> NameBelow(const fs::path& path) const {
    const fs::path name = path.lexically_normal().lexically_relative(folder_.lexically_normal());
    if (name.empty() || *name.begin() == "..") return std::nullopt;
    const std::string text = name.string();
    return text.ends_with("/.") ? text.substr(0, text.size() - 2) : text;
  }

  const UnionFile* Find(const fs::path& path) const {
    const auto name = NameBelow(path);
    const auto found = name ? listing_.find(*name) : listing_.end();
    return found == listing_.end() ? nullptr : &found->second;
  }

  static void AddBelow(const std::string& name, bool recursive, std::map<std::string, FileType>& entries) {
    for (size_t slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1)) {
      entries.try_emplace(name.substr(0, slash), FileType::kDirectory);
      if (!recursive) return;
    }
    entries.try_emplace(name, FileType::kRegular);
  }

  Result<std::unique_ptr<ReadFile>> Fetched(const fs::path& path, const UnionFile& file) {
    return std::make_unique<FetchedFile>(path.string(), file, fetch_, land_);
  }

  FileSystem& here_;
  const fs::path folder_;
  const UnionListing& listing_;
  const FetchBytes fetch_;
  const LandBytes land_;
};

}  // namespace

Result<std::vector<SeenFile>> ListSeen(FileSystem& files, const fs::path& folder) {
  std::vector<SeenFile> seen;
  const auto listing = files.ListDirectory(folder, {.recursive = true});
  if (!listing && listing.error().kind() == ErrorKind::kNotFound) return seen;
  if (!listing) return Fail(listing.error());
  for (const DirectoryEntry& entry : *listing) {
    if (entry.type != FileType::kRegular) continue;
    DCPCTL_ASSIGN(const FileInfo info, files.Stat(folder / entry.name));
    seen.push_back({.name = entry.name, .bytes = info.bytes, .mtime_ns = info.mtime_ns});
  }
  return seen;
}

std::string EncodeSeen(const std::vector<SeenFile>& seen) {
  ByteWriter out;
  out.U64(seen.size());
  for (const SeenFile& file : seen) {
    WriteText(out, file.name);
    out.U64(file.bytes).U64(static_cast<uint64_t>(file.mtime_ns));
  }
  return std::move(out).Take();
}

Result<std::vector<SeenFile>> DecodeSeen(std::string_view bytes) {
  ByteCursor in = ReadMessage(bytes);
  std::vector<SeenFile> seen;
  for (uint64_t left = in.U64("files"); left > 0 && !in.failed(); --left) {
    SeenFile file{.name = std::string(ReadText(in))};
    file.bytes = in.U64("bytes");
    file.mtime_ns = static_cast<int64_t>(in.U64("time"));
    seen.push_back(std::move(file));
  }
  return in.Finish(std::move(seen));
}

// A copy with another time may be another file: it is left alone, and the first process that has the name is asked.
Result<UnionListing> JoinSeen(const fs::path& folder, const std::vector<std::vector<SeenFile>>& all, unsigned self) {
  UnionListing listing;
  for (unsigned rank = 0; rank < all.size(); ++rank) {
    for (const SeenFile& seen : all[rank]) {
      UnionFile& file = listing.try_emplace(seen.name, UnionFile{.seen = seen, .owner = rank}).first->second;
      if (file.seen.bytes != seen.bytes) {
        return Fail(Place{.file = (folder / seen.name).string()}, ErrorKind::kMismatch,
                    "has " + std::to_string(seen.bytes) + " bytes where process " + std::to_string(rank) +
                        " sees it, expected the " + std::to_string(file.seen.bytes) + " that process " +
                        std::to_string(file.owner) + " sees");
      }
      if (rank == self && file.seen.mtime_ns == seen.mtime_ns) file.here = true;
    }
  }
  return listing;
}

std::unique_ptr<FileSystem> NewUnionFileSystem(FileSystem& here, const fs::path& folder, const UnionListing& listing,
                                               FetchBytes fetch, LandBytes land) {
  return std::make_unique<UnionFileSystem>(here, folder, listing, std::move(fetch), std::move(land));
}

}  // namespace dcpctl::io
