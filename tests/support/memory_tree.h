// The state behind MemoryFileSystem: a tree of nodes that knows what is on "disk" and what only in memory, and the
// faults to inject. Everything here is guarded by MemoryState::mutex unless a comment says otherwise.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dcpctl/error.h"
#include "io/file.h"

namespace dcpctl::test {

struct MemoryFaults {
  // EIO from a read that touches this offset of any file.
  std::optional<uint64_t> read_error_at = {};
  // EIO from a write that touches this offset of any file.
  std::optional<uint64_t> write_error_at = {};
  // Bytes that all files together may hold; beyond it ENOSPC, with the bytes that still fit written.
  std::optional<uint64_t> space = {};
  // Call number N (MemoryFileSystem::calls() counts from 0) fails once, with `fail_errno`, without effect.
  std::optional<uint64_t> fail_call = {};
  int fail_errno = EIO;
  // The process dies at call number N: that call and all later ones fail without effect and destructors remove nothing.
  std::optional<uint64_t> stop_call = {};
  // WriteFile::CloneRange copies and says true instead of false.
  bool can_clone = false;
  // FileSystem::Exchange does it instead of saying false.
  bool can_exchange = true;
  // Before call number N, without any lock held: may change the tree, as another process would.
  std::function<void(uint64_t call, std::string_view what)> on_call = {};
};

// A write or, without bytes, a change of the size to `offset`.
struct FileChange {
  uint64_t offset = 0;
  std::vector<std::byte> bytes = {};
};

struct Node {
  io::FileType type = io::FileType::kRegular;
  uint64_t inode = 0;
  int64_t mtime_ns = 0;
  std::vector<std::byte> bytes = {};
  std::vector<std::byte> synced_bytes = {};
  std::vector<FileChange> unsynced = {};
  std::map<std::string, std::shared_ptr<Node>> entries = {};  // of a directory
  std::map<std::string, std::shared_ptr<Node>> synced_entries = {};
};

// From now on `name` in `directory` is `node`, or nothing when that is null.
struct NameChange {
  std::shared_ptr<Node> directory;
  std::string name;
  std::shared_ptr<Node> node;
};

struct MemoryState {
  std::mutex mutex;
  std::shared_ptr<Node> root;
  MemoryFaults faults;
  std::vector<std::string> calls;
  uint64_t next_inode = 2;
  int64_t clock_ns = 1'000'000'000;
  std::vector<std::weak_ptr<Node>> nodes;               // all ever made, for the space in use
  std::vector<std::vector<NameChange>> unsynced_names;  // by call: a disk has all of one or nothing

  std::shared_ptr<Node> NewNode(io::FileType type);
  uint64_t UsedBytes() const;
  uint64_t FreeBytes() const;
  bool stopped() const { return faults.stop_call && calls.size() > *faults.stop_call; }

  // Takes the lock itself. Counts a call, runs the hook and fails if it is this one's turn to.
  Result<void> Enter(const std::string& what, const std::string& file);
  // Faults included. Writes what fits.
  Result<void> Write(Node& node, uint64_t offset, std::span<const std::byte> bytes, const std::string& name);
  Result<void> Read(const Node& node, uint64_t offset, std::span<std::byte> out, uint64_t expected_size,
                    const std::string& name) const;
  Result<void> Resize(Node& node, uint64_t bytes, const std::string& name);
  void ChangeNames(std::vector<NameChange> changes);
  static void Sync(Node& file);
  void SyncNames(const std::shared_ptr<Node>& directory);
  // Back to what was synced and, with a seed, any part of the rest, in any order.
  void LosePower(std::optional<uint32_t> seed);
};

io::FileInfo InfoOf(const Node& node);

}  // namespace dcpctl::test
