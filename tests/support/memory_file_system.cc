#include "support/memory_file_system.h"

#include <algorithm>
#include <stdexcept>

#include "base/result.h"
#include "io/errno_text.h"
#include "support/memory_files.h"

namespace dcpctl::test {
namespace {

namespace fs = std::filesystem;
using io::FileType;
using Lock = std::lock_guard<std::mutex>;

std::vector<std::byte> ToBytes(std::string_view text) {
  const auto view = std::as_bytes(std::span(text));
  return {view.begin(), view.end()};
}

tl::unexpected<Error> Errno(int err, std::string_view action, const fs::path& path) {
  return Fail(io::ErrorFromErrno(err, action, Place{path.string()}));
}

Result<std::shared_ptr<Node>> Find(const MemoryState& state, const fs::path& path, std::string_view action) {
  auto node = FindNode(state, path);
  if (!node) return Errno(ENOENT, action, path);
  return node;
}

Result<std::shared_ptr<Node>> FindDirectory(const MemoryState& state, const fs::path& path, std::string_view action) {
  DCPCTL_ASSIGN(auto node, Find(state, path, action));
  if (node->type != FileType::kDirectory) return Errno(ENOTDIR, action, path);
  return node;
}

// The durable directory `path`, made with its parents as needed.
std::shared_ptr<Node> EnsureDirectory(MemoryState& state, const fs::path& path) {
  std::shared_ptr<Node> node = state.root;
  for (const auto& part : Normal(path).relative_path()) {
    std::shared_ptr<Node>& next = node->entries[part.string()];
    if (!next) next = state.NewNode(FileType::kDirectory);
    node->synced_entries[part.string()] = next;
    node = next;
  }
  return node;
}

void Plant(MemoryState& state, const fs::path& path, const std::shared_ptr<Node>& node) {
  const fs::path normal = Normal(path);
  const auto directory = EnsureDirectory(state, normal.parent_path());
  directory->entries[normal.filename().string()] = node;
  directory->synced_entries[normal.filename().string()] = node;
}

// Calls `visit(relative name, node)` for everything below `directory`.
template <typename Visit>
void Walk(const Node& directory, const std::string& prefix, bool recursive, const Visit& visit) {
  for (const auto& [name, node] : directory.entries) {
    visit(prefix + name, *node);
    if (recursive) Walk(*node, prefix + name + "/", recursive, visit);
  }
}

}  // namespace

MemoryFileSystem::MemoryFileSystem() : state_(std::make_shared<MemoryState>()) {
  state_->root = state_->NewNode(FileType::kDirectory);
}

void MemoryFileSystem::Put(const fs::path& path, std::string_view bytes) {
  const Lock lock(state_->mutex);
  const auto node = state_->NewNode(FileType::kRegular);
  node->bytes = node->synced_bytes = ToBytes(bytes);
  Plant(*state_, path, node);
}

void MemoryFileSystem::PutSpecial(const fs::path& path, FileType type) {
  const Lock lock(state_->mutex);
  Plant(*state_, path, state_->NewNode(type));
}

void MemoryFileSystem::PutDirectory(const fs::path& path) {
  const Lock lock(state_->mutex);
  EnsureDirectory(*state_, path);
}

void MemoryFileSystem::Overwrite(const fs::path& path, std::string_view bytes) {
  const Lock lock(state_->mutex);
  const auto node = FindNode(*state_, path);
  if (!node) throw std::logic_error("Overwrite: no file " + path.string());
  node->bytes = node->synced_bytes = ToBytes(bytes);
  node->mtime_ns = state_->clock_ns++;
}

std::optional<std::string> MemoryFileSystem::Contents(const fs::path& path) {
  const Lock lock(state_->mutex);
  const auto node = FindNode(*state_, path);
  if (!node || node->type == FileType::kDirectory) return {};
  return std::string(reinterpret_cast<const char*>(node->bytes.data()), node->bytes.size());
}

std::vector<std::string> MemoryFileSystem::Paths() {
  const Lock lock(state_->mutex);
  std::vector<std::string> paths;
  Walk(*state_->root, "/", true, [&](const std::string& name, const Node& node) {
    if (node.type != FileType::kDirectory) paths.push_back(name);
  });
  std::sort(paths.begin(), paths.end());
  return paths;
}

void MemoryFileSystem::SetFaults(MemoryFaults faults) {
  const Lock lock(state_->mutex);
  state_->faults = std::move(faults);
  state_->calls.clear();
}

std::vector<std::string> MemoryFileSystem::calls() {
  const Lock lock(state_->mutex);
  return state_->calls;
}

void MemoryFileSystem::Crash(std::optional<uint32_t> seed) {
  const Lock lock(state_->mutex);
  state_->LosePower(seed);
  state_->faults = {};
  state_->calls.clear();
}

Result<io::FileInfo> MemoryFileSystem::Stat(const fs::path& path) {
  DCPCTL_TRY(state_->Enter("stat", path.string()));
  const Lock lock(state_->mutex);
  DCPCTL_ASSIGN(const auto node, Find(*state_, path, "read attributes"));
  return InfoOf(*node);
}

Result<std::vector<io::DirectoryEntry>> MemoryFileSystem::ListDirectory(const fs::path& path,
                                                                        const io::ListOptions& options) {
  DCPCTL_TRY(state_->Enter("list", path.string()));
  const Lock lock(state_->mutex);
  DCPCTL_ASSIGN(const auto directory, FindDirectory(*state_, path, "open"));
  std::vector<io::DirectoryEntry> entries;
  Walk(*directory, "", options.recursive,
       [&](const std::string& name, const Node& node) { entries.push_back({.name = name, .type = node.type}); });
  if (entries.size() > options.limit) {
    return Fail(Place{path.string()}, ErrorKind::kLimit,
                "holds more than " + std::to_string(options.limit) + " files and directories");
  }
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return entries;
}

Result<fs::path> MemoryFileSystem::RealPath(const fs::path& path) { return Normal(path); }

Result<uint64_t> MemoryFileSystem::FreeBytes(const fs::path& path) {
  DCPCTL_TRY(state_->Enter("free", path.string()));
  const Lock lock(state_->mutex);
  return state_->FreeBytes();
}

Result<std::unique_ptr<io::ReadFile>> MemoryFileSystem::OpenRead(const fs::path& path) {
  DCPCTL_TRY(state_->Enter("open", path.string()));
  const Lock lock(state_->mutex);
  DCPCTL_ASSIGN(const auto node, Find(*state_, path, "open"));
  if (node->type != FileType::kRegular) {
    return Fail(Place{path.string()}, ErrorKind::kUnsupported,
                "is a " + std::string(io::FileTypeName(node->type)) + ", expected a regular file");
  }
  return NewMemoryReadFile(state_, node, path.string());
}

Result<std::unique_ptr<io::ReadFile>> MemoryFileSystem::OpenBeneath(const fs::path& root, std::string_view relative) {
  if (auto accepted = io::CheckRelativeName(relative); !accepted) {
    return Fail(std::move(accepted).error().At(Place{root.string()}));
  }
  return OpenRead(root / relative);
}

Result<std::unique_ptr<io::WriteFile>> MemoryFileSystem::CreateTemp(const fs::path& target) {
  DCPCTL_TRY(state_->Enter("create", target.string()));
  const Lock lock(state_->mutex);
  const std::string stem = target.filename().string();
  if (stem.empty() || stem == "." || stem == "..") {
    return Fail(Place{target.string()}, ErrorKind::kUsage, "is not the name of a file");
  }
  DCPCTL_ASSIGN(auto directory, FindDirectory(*state_, target.parent_path(), "open"));
  auto node = state_->NewNode(FileType::kRegular);
  std::string name = "." + stem + "." + std::to_string(100'000 + node->inode) + ".tmp";
  state_->ChangeNames({{directory, name, node}});
  return NewMemoryWriteFile(state_, std::move(directory), std::move(node), std::move(name), target);
}

Result<std::unique_ptr<io::Sink>> MemoryFileSystem::OpenStream(const fs::path& path) {
  DCPCTL_TRY(state_->Enter("open", path.string()));
  const Lock lock(state_->mutex);
  DCPCTL_ASSIGN(auto node, Find(*state_, path, "open"));
  if (node->type == FileType::kDirectory) return Errno(EISDIR, "open", path);
  DCPCTL_TRY(state_->Resize(*node, 0, path.string()));
  return NewMemorySink(state_, std::move(node), path.string());
}

Result<std::unique_ptr<io::ScratchFile>> MemoryFileSystem::OpenScratch(const fs::path& directory) {
  DCPCTL_TRY(state_->Enter("scratch", directory.string()));
  const Lock lock(state_->mutex);
  DCPCTL_TRY(FindDirectory(*state_, directory, "open"));
  return NewMemoryScratchFile(state_, state_->NewNode(FileType::kRegular));
}

Result<void> MemoryFileSystem::Link(const io::ReadFile& source, const fs::path& to) {
  DCPCTL_TRY(state_->Enter("link", to.string()));
  const Lock lock(state_->mutex);
  const fs::path target = Normal(to);
  DCPCTL_ASSIGN(const auto node, Find(*state_, fs::path(source.name()), "link"));
  DCPCTL_ASSIGN(const auto directory, FindDirectory(*state_, target.parent_path(), "link"));
  if (directory->entries.contains(target.filename().string())) return Errno(EEXIST, "link", to);
  state_->ChangeNames({{directory, target.filename().string(), node}});
  return {};
}

Result<bool> MemoryFileSystem::MakeDirectory(const fs::path& path) {
  DCPCTL_TRY(state_->Enter("mkdir", path.string()));
  const Lock lock(state_->mutex);
  const fs::path normal = Normal(path);
  if (const auto there = FindNode(*state_, normal)) {
    if (there->type == FileType::kDirectory) return false;
    return Fail(Place{path.string()}, ErrorKind::kExists, "already exists and is not a directory");
  }
  DCPCTL_ASSIGN(const auto parent, FindDirectory(*state_, normal.parent_path(), "create directory"));
  state_->ChangeNames({{parent, normal.filename().string(), state_->NewNode(FileType::kDirectory)}});
  return true;
}

Result<void> MemoryFileSystem::SyncDirectory(const fs::path& path) {
  DCPCTL_TRY(state_->Enter("sync directory", path.string()));
  const Lock lock(state_->mutex);
  DCPCTL_ASSIGN(const auto directory, FindDirectory(*state_, path, "open"));
  state_->SyncNames(directory);
  return {};
}

Result<void> MemoryFileSystem::Rename(const fs::path& from, const fs::path& to, bool replace) {
  DCPCTL_TRY(state_->Enter("rename", to.string()));
  const Lock lock(state_->mutex);
  const fs::path source = Normal(from);
  const fs::path target = Normal(to);
  DCPCTL_ASSIGN(const auto from_directory, FindDirectory(*state_, source.parent_path(), "rename"));
  DCPCTL_ASSIGN(const auto to_directory, FindDirectory(*state_, target.parent_path(), "rename"));
  return MoveEntry(*state_, from_directory, source.filename().string(), to_directory, target.filename().string(),
                   replace, to.string());
}

Result<bool> MemoryFileSystem::Exchange(const fs::path& a, const fs::path& b) {
  DCPCTL_TRY(state_->Enter("exchange", b.string()));
  const Lock lock(state_->mutex);
  if (!state_->faults.can_exchange) return false;
  const fs::path first = Normal(a);
  const fs::path second = Normal(b);
  DCPCTL_ASSIGN(const auto first_node, Find(*state_, first, "exchange"));
  DCPCTL_ASSIGN(const auto second_node, Find(*state_, second, "exchange"));
  state_->ChangeNames({{FindNode(*state_, first.parent_path()), first.filename().string(), second_node},
                       {FindNode(*state_, second.parent_path()), second.filename().string(), first_node}});
  return true;
}

Result<void> MemoryFileSystem::RemoveFile(const fs::path& path) { return Remove(path, false); }
Result<void> MemoryFileSystem::RemoveDirectory(const fs::path& path) { return Remove(path, true); }

Result<void> MemoryFileSystem::Remove(const fs::path& path, bool directory) {
  DCPCTL_TRY(state_->Enter("remove", path.string()));
  const Lock lock(state_->mutex);
  const fs::path normal = Normal(path);
  DCPCTL_ASSIGN(const auto node, Find(*state_, normal, "remove"));
  if ((node->type == FileType::kDirectory) != directory) return Errno(directory ? ENOTDIR : EISDIR, "remove", path);
  if (!node->entries.empty()) return Errno(ENOTEMPTY, "remove", path);
  state_->ChangeNames({{FindNode(*state_, normal.parent_path()), normal.filename().string(), nullptr}});
  return {};
}

}  // namespace dcpctl::test
