// Lets the processes of a run read files that only some of them see. Each serves those it sees to the others.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/device_memory.h"
#include "io/file_system.h"
#include "io/union_file_system.h"
#include "ranks/crew.h"

namespace dcpctl::ranks {

// Serves until it is destroyed, which must not be before the run is concluded. Takes up to 20 MiB for bytes under way.
class FileExchange {
 public:
  // `seen` is what this process sees below `folder`. The crew and the file system must outlive it.
  FileExchange(Crew& crew, io::FileSystem& here, const std::filesystem::path& folder,
               const std::vector<io::SeenFile>& seen);
  ~FileExchange();
  FileExchange(const FileExchange&) = delete;
  FileExchange& operator=(const FileExchange&) = delete;

  // Fills `out` with bytes of a file that `owner` sees. With none to fill, looks whether the file is still as it was.
  // Thread-safe. Errors: those of reading there; kCancelled.
  Result<void> Fetch(unsigned owner, const std::string& name, uint64_t offset, std::span<std::byte> out);
  // Fills memory of a device, which commands of the device must leave alone meanwhile, and returns the CRC-32 of the
  // bytes: they do not pass through memory of the program. Nothing, with nothing done, for memory that messages cannot
  // land in. After an error bytes may still come, and the memory is kept for them.
  Result<std::optional<uint32_t>> Land(unsigned owner, const std::string& name, uint64_t offset, const DevicePart& to);
  [[nodiscard]] bool CanLandIn(MemoryKind kind) const { return crew_.courier().CanLandIn(kind); }

  // Messages whose bytes land have tags from here on.
  static constexpr int kFirstLandingTag = 1024;

 private:
  struct Desk;
  struct Order;
  Result<void> Ask(unsigned owner, const std::string& name, uint64_t offset, std::span<const int> tags, Order& order);
  void Serve(const std::stop_token& stop, io::FileSystem& here, const std::filesystem::path& folder,
             const std::vector<io::SeenFile>& seen);

  Crew& crew_;
  const std::shared_ptr<Desk> desk_;  // also of the handlers of messages
  std::jthread server_;
};

}  // namespace dcpctl::ranks
