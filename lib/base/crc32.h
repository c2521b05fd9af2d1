// CRC-32 as zip uses it (polynomial 0xEDB88320, reflected, inverted). ISA-L computes it, zlib combines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace dcpctl {

// CRC of `bytes` appended to data whose CRC is `crc` (0 for none).
uint32_t Crc32(std::span<const std::byte> bytes, uint32_t crc = 0);

// CRC of two pieces of data put together, without the data.
uint32_t Crc32Combine(uint32_t first, uint32_t second, uint64_t second_length);

}  // namespace dcpctl
