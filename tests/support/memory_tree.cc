#include "support/memory_tree.h"

#include <algorithm>
#include <limits>
#include <random>
#include <utility>

#include "base/checked.h"
#include "base/result.h"
#include "io/errno_text.h"

namespace dcpctl::test {
namespace {

void Apply(const FileChange& change, std::vector<std::byte>& bytes) {
  if (change.bytes.empty()) return bytes.resize(change.offset);
  bytes.resize(std::max(bytes.size(), change.offset + change.bytes.size()));
  std::copy(change.bytes.begin(), change.bytes.end(), bytes.begin() + static_cast<ptrdiff_t>(change.offset));
}

void Apply(const std::shared_ptr<Node>& node, const std::string& name,
           std::map<std::string, std::shared_ptr<Node>>& entries) {
  if (node) {
    entries[name] = node;
  } else {
    entries.erase(name);
  }
}

// What a disk got of things that nobody waited for: usually some of them, in an order of its own.
class Disk {
 public:
  explicit Disk(std::optional<uint32_t> seed) : random_(seed.value_or(0)), keeps_(seed ? 1 + random_() % 3 : 0) {}

  template <typename Change>
  std::vector<Change> Got(std::vector<Change> changes) {
    if (random_() % 2 == 0) std::shuffle(changes.begin(), changes.end(), random_);
    std::erase_if(changes, [&](const Change&) { return random_() % 4 >= keeps_; });
    return changes;
  }

 private:
  std::mt19937 random_;
  uint64_t keeps_;  // of four
};

}  // namespace

std::shared_ptr<Node> MemoryState::NewNode(io::FileType type) {
  auto node = std::make_shared<Node>();
  node->type = type;
  node->inode = next_inode++;
  node->mtime_ns = clock_ns++;
  nodes.push_back(node);
  return node;
}

uint64_t MemoryState::UsedBytes() const {
  uint64_t used = 0;
  for (const auto& weak : nodes) {
    if (const auto node = weak.lock()) used += node->bytes.size();
  }
  return used;
}

uint64_t MemoryState::FreeBytes() const {
  const uint64_t space = faults.space.value_or(std::numeric_limits<int64_t>::max());
  return space - std::min(space, UsedBytes());
}

Result<void> MemoryState::Enter(const std::string& what, const std::string& file) {
  std::function<void(uint64_t, std::string_view)> hook;
  uint64_t call = 0;
  {
    const std::lock_guard lock(mutex);
    call = calls.size();
    calls.push_back(what + " " + file);
    hook = faults.on_call;
  }
  if (hook) hook(call, what + " " + file);
  const std::lock_guard lock(mutex);
  if (faults.stop_call && call >= *faults.stop_call) {
    return Fail(io::ErrorFromErrno(EIO, what + " (the process is dead)", Place{file}));
  }
  if (faults.fail_call == call) return Fail(io::ErrorFromErrno(faults.fail_errno, what, Place{file}));
  return {};
}

Result<void> MemoryState::Write(Node& node, uint64_t offset, std::span<const std::byte> bytes,
                                const std::string& name) {
  uint64_t fits = bytes.size();
  int err = 0;
  const auto bad = faults.write_error_at;
  if (bad && *bad >= offset && *bad - offset < fits) {
    fits = *bad - offset;
    err = EIO;
  }
  const uint64_t most = node.bytes.size() + FreeBytes();
  if (offset + fits > most) {
    fits = most > offset ? most - offset : 0;
    err = ENOSPC;
  }
  if (fits > 0 && node.bytes.size() < offset + fits) node.bytes.resize(offset + fits);
  if (fits > 0) {
    const auto fitting = bytes.first(fits);
    std::copy(fitting.begin(), fitting.end(), node.bytes.begin() + static_cast<ptrdiff_t>(offset));
    node.unsynced.push_back({.offset = offset, .bytes = {fitting.begin(), fitting.end()}});
  }
  node.mtime_ns = clock_ns++;
  if (err != 0) return Fail(io::ErrorFromErrno(err, "write", Place{name, offset + fits}));
  return {};
}

Result<void> MemoryState::Read(const Node& node, uint64_t offset, std::span<std::byte> out, uint64_t expected_size,
                               const std::string& name) const {
  if (!InRange(offset, out.size(), expected_size)) {
    return Fail(Place{name, offset}, ErrorKind::kCorrupt,
                "range of " + std::to_string(out.size()) + " bytes ends past the end, expected at most " +
                    std::to_string(expected_size) + " bytes in all");
  }
  const auto bad = faults.read_error_at;
  if (bad && *bad >= offset && *bad - offset < out.size()) {
    return Fail(io::ErrorFromErrno(EIO, "read", Place{name, *bad}));
  }
  if (offset + out.size() > node.bytes.size() && !out.empty()) {
    return Fail(Place{name, node.bytes.size()}, ErrorKind::kCorrupt,
                "file ended at " + std::to_string(node.bytes.size()) + ", expected " + std::to_string(expected_size) +
                    " bytes: it shrank while being read");
  }
  std::copy_n(node.bytes.begin() + static_cast<ptrdiff_t>(out.empty() ? 0 : offset), out.size(), out.begin());
  return {};
}

Result<void> MemoryState::Resize(Node& node, uint64_t bytes, const std::string& name) {
  if (bytes > node.bytes.size() && bytes - node.bytes.size() > FreeBytes()) {
    return Fail(Place{name}, ErrorKind::kIo, "no space: needs " + std::to_string(bytes) + " bytes");
  }
  node.bytes.resize(bytes);
  node.unsynced.push_back({.offset = bytes});
  node.mtime_ns = clock_ns++;
  return {};
}

void MemoryState::ChangeNames(std::vector<NameChange> changes) {
  for (const NameChange& change : changes) Apply(change.node, change.name, change.directory->entries);
  unsynced_names.push_back(std::move(changes));
}

void MemoryState::Sync(Node& file) {
  file.synced_bytes = file.bytes;
  file.unsynced.clear();
}

void MemoryState::SyncNames(const std::shared_ptr<Node>& directory) {
  directory->synced_entries = directory->entries;
  for (auto& changes : unsynced_names) {
    std::erase_if(changes, [&](const NameChange& change) { return change.directory == directory; });
  }
  std::erase_if(unsynced_names, [](const auto& changes) { return changes.empty(); });
}

void MemoryState::LosePower(std::optional<uint32_t> seed) {
  Disk disk(seed);
  for (const auto& changes : disk.Got(std::exchange(unsynced_names, {}))) {
    for (const NameChange& change : changes) Apply(change.node, change.name, change.directory->synced_entries);
  }
  for (const auto& weak : nodes) {
    const auto node = weak.lock();
    if (!node) continue;
    for (const FileChange& change : disk.Got(std::exchange(node->unsynced, {}))) Apply(change, node->synced_bytes);
    node->bytes = node->synced_bytes;
    node->entries = node->synced_entries;
  }
}

io::FileInfo InfoOf(const Node& node) {
  return {.type = node.type,
          .bytes = node.bytes.size(),
          .mtime_ns = node.mtime_ns,
          .id = {.device = 1, .inode = node.inode},
          .block_bytes = 4096};
}

}  // namespace dcpctl::test
