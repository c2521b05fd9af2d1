#include "support/memory_files.h"

#include <utility>

#include "base/result.h"
#include "io/errno_text.h"

namespace dcpctl::test {
namespace {

using Lock = std::lock_guard<std::mutex>;

class MemoryReadFile final : public io::ReadFile {
 public:
  MemoryReadFile(std::shared_ptr<MemoryState> state, std::shared_ptr<Node> node, std::string name)
      : state_(std::move(state)), node_(std::move(node)), name_(std::move(name)), info_(InfoOf(*node_)) {}

  Result<void> ReadAt(uint64_t offset, std::span<std::byte> out) const override {
    DCPCTL_TRY(state_->Enter("read", name_));
    const Lock lock(state_->mutex);
    return state_->Read(*node_, offset, out, info_.bytes, name_);
  }

  Result<void> CheckUnchanged() const override {
    DCPCTL_TRY(state_->Enter("check", name_));
    const Lock lock(state_->mutex);
    if (node_->bytes.size() != info_.bytes) return Changed("its size is another one");
    if (node_->mtime_ns != info_.mtime_ns) return Changed("its modification time is another one");
    const auto there = FindNode(*state_, name_);
    if (!there) return Changed("it was removed");
    if (there != node_) return Changed("it was replaced by another file");
    return {};
  }

  void Hint(io::AccessHint /*hint*/, uint64_t /*offset*/, uint64_t /*length*/) const override {}
  [[nodiscard]] const io::FileInfo& info() const override { return info_; }
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] int fd() const override { return -1; }

 private:
  [[nodiscard]] tl::unexpected<Error> Changed(const std::string& what) const {
    return Fail(Place{name_}, ErrorKind::kMismatch, "changed since it was opened: " + what);
  }

  std::shared_ptr<MemoryState> state_;
  std::shared_ptr<Node> node_;
  std::string name_;
  io::FileInfo info_;
};

class MemoryWriteFile final : public io::WriteFile {
 public:
  MemoryWriteFile(std::shared_ptr<MemoryState> state, std::shared_ptr<Node> directory, std::shared_ptr<Node> node,
                  std::string temp_name, std::filesystem::path target)
      : state_(std::move(state)),
        directory_(std::move(directory)),
        node_(std::move(node)),
        temp_name_(std::move(temp_name)),
        target_(std::move(target)),
        temp_path_(target_.parent_path() / temp_name_),
        name_(target_.string()) {}

  ~MemoryWriteFile() override {
    const Lock lock(state_->mutex);
    const auto found = directory_->entries.find(temp_name_);
    const bool ours = found != directory_->entries.end() && found->second == node_;
    if (ours && !state_->stopped()) state_->ChangeNames({{directory_, temp_name_, nullptr}});
  }

  Result<void> WriteAt(uint64_t offset, std::span<const std::byte> bytes) override {
    DCPCTL_TRY(state_->Enter("write", name_));
    const Lock lock(state_->mutex);
    return state_->Write(*node_, offset, bytes, name_);
  }

  Result<void> Allocate(uint64_t bytes) override {
    DCPCTL_TRY(state_->Enter("allocate", name_));
    const Lock lock(state_->mutex);
    return state_->Resize(*node_, bytes, name_);
  }

  Result<bool> CloneRange(const io::ReadFile& source, uint64_t source_offset, uint64_t offset,
                          uint64_t length) override {
    DCPCTL_TRY(state_->Enter("clone", name_));
    if (length == 0) return true;
    if (!state_->faults.can_clone) return false;
    std::vector<std::byte> bytes(length);
    DCPCTL_TRY(source.ReadAt(source_offset, bytes));
    const Lock lock(state_->mutex);
    DCPCTL_TRY(state_->Write(*node_, offset, bytes, name_));
    return true;
  }

  void StartWriteback(uint64_t /*offset*/, uint64_t /*length*/) override {}

  Result<void> Commit(bool replace) override {
    if (std::exchange(committed_, true)) return Fail(Place{name_}, ErrorKind::kInternal, "committed a second time");
    DCPCTL_TRY(state_->Enter("sync", name_));
    {
      const Lock lock(state_->mutex);
      MemoryState::Sync(*node_);
    }
    DCPCTL_TRY(state_->Enter("rename", name_));
    {
      const Lock lock(state_->mutex);
      DCPCTL_TRY(MoveEntry(*state_, directory_, temp_name_, directory_, target_.filename().string(), replace, name_));
    }
    DCPCTL_TRY(state_->Enter("sync directory", name_));
    const Lock lock(state_->mutex);
    state_->SyncNames(directory_);
    return {};
  }

  [[nodiscard]] const std::filesystem::path& target() const override { return target_; }
  [[nodiscard]] const std::filesystem::path& temp_path() const override { return temp_path_; }
  [[nodiscard]] int fd() const override { return -1; }

 private:
  std::shared_ptr<MemoryState> state_;
  std::shared_ptr<Node> directory_;
  std::shared_ptr<Node> node_;
  std::string temp_name_;
  std::filesystem::path target_;
  std::filesystem::path temp_path_;
  std::string name_;
  bool committed_ = false;
};

class MemoryScratchFile final : public io::ScratchFile {
 public:
  MemoryScratchFile(std::shared_ptr<MemoryState> state, std::shared_ptr<Node> node)
      : state_(std::move(state)), node_(std::move(node)) {}

  Result<void> ReadAt(uint64_t offset, std::span<std::byte> out) const override {
    DCPCTL_TRY(state_->Enter("read", name_));
    const Lock lock(state_->mutex);
    return state_->Read(*node_, offset, out, node_->bytes.size(), name_);
  }
  Result<void> WriteAt(uint64_t offset, std::span<const std::byte> bytes) override {
    DCPCTL_TRY(state_->Enter("write", name_));
    const Lock lock(state_->mutex);
    return state_->Write(*node_, offset, bytes, name_);
  }
  [[nodiscard]] uint64_t size() const override {
    const Lock lock(state_->mutex);
    return node_->bytes.size();
  }
  [[nodiscard]] const std::string& name() const override { return name_; }

 private:
  std::shared_ptr<MemoryState> state_;
  std::shared_ptr<Node> node_;
  std::string name_ = "scratch file";
};

class MemorySink final : public io::Sink {
 public:
  MemorySink(std::shared_ptr<MemoryState> state, std::shared_ptr<Node> node, std::string name)
      : state_(std::move(state)), node_(std::move(node)), name_(std::move(name)) {}

  Result<void> Write(std::span<const std::byte> bytes) override {
    DCPCTL_TRY(state_->Enter("write", name_));
    const Lock lock(state_->mutex);
    DCPCTL_TRY(state_->Write(*node_, written_, bytes, name_));
    written_ += bytes.size();
    return {};
  }
  Result<void> Finish() override { return state_->Enter("close", name_); }
  [[nodiscard]] uint64_t written() const override { return written_; }
  [[nodiscard]] const std::string& name() const override { return name_; }

 private:
  std::shared_ptr<MemoryState> state_;
  std::shared_ptr<Node> node_;
  std::string name_;
  uint64_t written_ = 0;
};

}  // namespace

std::filesystem::path Normal(const std::filesystem::path& path) {
  const std::filesystem::path normal = ("/" / path).lexically_normal();
  return normal.has_filename() || normal == "/" ? normal : normal.parent_path();
}

std::shared_ptr<Node> FindNode(const MemoryState& state, const std::filesystem::path& path) {
  std::shared_ptr<Node> node = state.root;
  for (const auto& part : Normal(path).relative_path()) {
    const auto found = node->entries.find(part.string());
    if (found == node->entries.end()) return nullptr;
    node = found->second;
  }
  return node;
}

Result<void> MoveEntry(MemoryState& state, const std::shared_ptr<Node>& from_directory, const std::string& from,
                       const std::shared_ptr<Node>& to_directory, const std::string& to, bool replace,
                       const std::string& place) {
  const auto moving = from_directory->entries.find(from);
  if (moving == from_directory->entries.end()) return Fail(io::ErrorFromErrno(ENOENT, "rename", Place{place}));
  const std::shared_ptr<Node> node = moving->second;
  const auto there = to_directory->entries.find(to);
  if (there != to_directory->entries.end()) {
    if (!replace) {
      return Fail(Error(ErrorKind::kExists, Place{place}, "already exists").Advise("use --force to replace it"));
    }
    const bool is_directory = there->second->type == io::FileType::kDirectory;
    if (is_directory != (node->type == io::FileType::kDirectory)) {
      return Fail(io::ErrorFromErrno(is_directory ? EISDIR : ENOTDIR, "rename", Place{place}));
    }
    if (!there->second->entries.empty()) return Fail(io::ErrorFromErrno(ENOTEMPTY, "rename", Place{place}));
  }
  state.ChangeNames({{from_directory, from, nullptr}, {to_directory, to, node}});
  return {};
}

std::unique_ptr<io::ReadFile> NewMemoryReadFile(std::shared_ptr<MemoryState> state, std::shared_ptr<Node> node,
                                                std::string name) {
  return std::make_unique<MemoryReadFile>(std::move(state), std::move(node), std::move(name));
}

std::unique_ptr<io::WriteFile> NewMemoryWriteFile(std::shared_ptr<MemoryState> state, std::shared_ptr<Node> directory,
                                                  std::shared_ptr<Node> node, std::string temp_name,
                                                  std::filesystem::path target) {
  return std::make_unique<MemoryWriteFile>(std::move(state), std::move(directory), std::move(node),
                                           std::move(temp_name), std::move(target));
}

std::unique_ptr<io::ScratchFile> NewMemoryScratchFile(std::shared_ptr<MemoryState> state, std::shared_ptr<Node> node) {
  return std::make_unique<MemoryScratchFile>(std::move(state), std::move(node));
}

std::unique_ptr<io::Sink> NewMemorySink(std::shared_ptr<MemoryState> state, std::shared_ptr<Node> node,
                                        std::string name) {
  return std::make_unique<MemorySink>(std::move(state), std::move(node), std::move(name));
}

}  // namespace dcpctl::test
