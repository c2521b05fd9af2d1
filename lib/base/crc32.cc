#include "base/crc32.h"

#include <isa-l/crc.h>
#include <zlib.h>

namespace dcpctl {

uint32_t Crc32(std::span<const std::byte> bytes, uint32_t crc) {
  // ISA-L's prototype lacks const in some releases; it does not write.
  return crc32_gzip_refl(crc, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

uint32_t Crc32Combine(uint32_t first, uint32_t second, uint64_t second_length) {
  return static_cast<uint32_t>(crc32_combine64(first, second, static_cast<z_off64_t>(second_length)));
}

}  // namespace dcpctl
