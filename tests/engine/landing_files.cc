#include "tests/engine/landing_files.h"

#include <span>
#include <string>

#include "base/crc32.h"
#include "base/result.h"
#include "support/result.h"

namespace dcpctl::test {
namespace {

Result<void> Read(MemoryFileSystem& files, const std::string& name, uint64_t offset, std::span<std::byte> out) {
  DCPCTL_ASSIGN(const auto file, files.OpenBeneath("/ckpt", name));
  return out.empty() ? file->CheckUnchanged() : file->ReadAt(offset, out);
}

}  // namespace

LandingFiles::LandingFiles(MemoryFileSystem& files)
    : files_(files),
      listing_(Value(io::JoinSeen("/ckpt", {{}, Value(io::ListSeen(files, "/ckpt"))}, 0))),
      joined_(io::NewUnionFileSystem(
          files, "/ckpt", listing_,
          [this](unsigned, const std::string& name, uint64_t offset, std::span<std::byte> out) {
            fetched_ += out.size();
            return Read(files_, name, offset, out);
          },
          [this](unsigned, const std::string& name, uint64_t offset, const DevicePart& to) {
            return Land(name, offset, to);
          })) {}

Result<std::optional<uint32_t>> LandingFiles::Land(const std::string& name, uint64_t offset, const DevicePart& to) {
  if (error) return Fail(*error);
  if (apart) return std::nullopt;
  landed_ += to.bytes;
  const std::span<std::byte> out(to.address(), to.bytes);
  DCPCTL_TRY(Read(files_, name, offset, out));
  return Crc32(out);
}

}  // namespace dcpctl::test
