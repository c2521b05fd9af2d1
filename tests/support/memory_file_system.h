// A file system in memory that fails on demand, for tests of everything above lib/io. It keeps apart what was synced
// and what was not, so that a test can cut the power: Crash() goes back to what a disk may hold. No symbolic links
// and no permissions. Paths are absolute or taken from "/". Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/file_system.h"
#include "support/memory_tree.h"

namespace dcpctl::test {

class MemoryFileSystem : public io::FileSystem {
 public:
  MemoryFileSystem();

  // --- For the test: none of these counts as a call or fails by a fault. ---

  // A durable file with its directories, under a new inode.
  void Put(const std::filesystem::path& path, std::string_view bytes);
  // A FIFO, device or other thing; what a stream writes to it is its Contents.
  void PutSpecial(const std::filesystem::path& path, io::FileType type);
  void PutDirectory(const std::filesystem::path& path);
  // In place: same inode, new modification time. The file must exist.
  void Overwrite(const std::filesystem::path& path, std::string_view bytes);
  // Nothing if there is no such file.
  std::optional<std::string> Contents(const std::filesystem::path& path);
  // Paths of everything but directories, sorted.
  std::vector<std::string> Paths();

  // Resets the call counter.
  void SetFaults(MemoryFaults faults);
  // "sync /out/model.pt", ... since the faults were set.
  std::vector<std::string> calls();
  // Power loss: what was not synced is gone. With a seed the disk got some of it, single writes and changes of names,
  // in an order of its own. Faults are lifted. Files still open are useless.
  void Crash(std::optional<uint32_t> seed = {});

  // --- FileSystem ---

  Result<io::FileInfo> Stat(const std::filesystem::path& path) override;
  Result<std::vector<io::DirectoryEntry>> ListDirectory(const std::filesystem::path& path,
                                                        const io::ListOptions& options) override;
  Result<std::filesystem::path> RealPath(const std::filesystem::path& path) override;
  Result<uint64_t> FreeBytes(const std::filesystem::path& path) override;
  Result<std::unique_ptr<io::ReadFile>> OpenRead(const std::filesystem::path& path) override;
  Result<std::unique_ptr<io::ReadFile>> OpenBeneath(const std::filesystem::path& root,
                                                    std::string_view relative) override;
  Result<std::unique_ptr<io::WriteFile>> CreateTemp(const std::filesystem::path& target) override;
  Result<std::unique_ptr<io::Sink>> OpenStream(const std::filesystem::path& path) override;
  Result<std::unique_ptr<io::ScratchFile>> OpenScratch(const std::filesystem::path& directory) override;
  Result<void> Link(const io::ReadFile& source, const std::filesystem::path& to) override;
  Result<bool> MakeDirectory(const std::filesystem::path& path) override;
  Result<void> SyncDirectory(const std::filesystem::path& path) override;
  Result<void> Rename(const std::filesystem::path& from, const std::filesystem::path& to, bool replace) override;
  Result<bool> Exchange(const std::filesystem::path& a, const std::filesystem::path& b) override;
  Result<void> RemoveFile(const std::filesystem::path& path) override;
  Result<void> RemoveDirectory(const std::filesystem::path& path) override;

 private:
  Result<void> Remove(const std::filesystem::path& path, bool directory);

  std::shared_ptr<MemoryState> state_;
};

}  // namespace dcpctl::test
