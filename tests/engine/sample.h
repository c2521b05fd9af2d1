// Tensors with random contents, stored in the ways that a checkpoint may store them, with a plan that writes them one
// after the other and the bytes that must come out. These are found by plain index arithmetic, element by element,
// and with zlib's CRC: nothing of the engine is used.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dcpctl/catalog.h"
#include "dcpctl/plan.h"
#include "support/memory_file_system.h"
#include "tests/model/tiling.h"

namespace dcpctl::test {

// How a box of a tensor is stored. Overlapping strides are fine: the elements that share a place are then equal.
struct StoredChunk {
  Box box;
  Dims strides = {};  // none: row-major
  uint64_t first_element = 0;
  uint64_t spare_elements = 0;  // of the storage, behind those used
  bool big_endian = false;
  bool crc_known = true;
  uint32_t crc_error = 0;  // flips bits of the recorded CRC
  Codec codec = Codec::kNone;
  std::optional<uint64_t> place_in_block = {};  // of the storage's first byte in the file, modulo 4096
};

class Sample {
 public:
  // Where regions begin, modulo 4096; nothing: anywhere.
  explicit Sample(uint32_t seed, std::optional<uint64_t> region_place = {});

  // Chunks go to three files in turn. Chunk number N of all is plan source N once planned in this order.
  void Add(std::string key, DType dtype, const Dims& shape, const std::vector<StoredChunk>& chunks);
  // Plain row-major chunks.
  void AddPlain(std::string key, DType dtype, const Dims& shape, const std::vector<Box>& boxes);

  // From now on the tensor is to be cast, as the fake of support/fake_math.h does.
  void Cast(uint64_t tensor, DType to);

  // Flips one byte of the storage of a chunk that is not encoded.
  void Damage(uint64_t chunk, uint64_t pos);
  // Where the storage of a chunk (or, for zstd, its record) lies.
  [[nodiscard]] Place PlaceOf(uint64_t chunk) const;
  [[nodiscard]] const Chunk& chunk(uint64_t index) const { return catalog_.chunks[index]; }
  [[nodiscard]] const std::string& contents(uint64_t file) const { return contents_[file]; }

  // Puts the source files under /ckpt and plans: for each tensor a header, its bytes, and its CRC; at the end a
  // directory of all CRCs. With `crc_first`, the header holds the CRC too.
  Plan Store(MemoryFileSystem& files, bool crc_first = false);
  // What running that plan must give.
  [[nodiscard]] const std::string& expected() const { return expected_; }
  // The bytes of a tensor.
  [[nodiscard]] const std::string& data(uint64_t tensor) const { return data_[tensor]; }
  [[nodiscard]] const Catalog& catalog() const { return catalog_; }

 private:
  std::string RandomBytes(uint64_t count);
  StoredTensor AppendStorage(uint32_t file, const std::string& storage, const StoredChunk& chunk, Chunk& record);
  Text Header(uint64_t tensor, uint64_t offset, bool with_crc) const;

  Random random_;
  std::optional<uint64_t> region_place_;
  Catalog catalog_;
  std::vector<std::string> contents_;  // of the files
  std::vector<std::string> data_;      // of the tensors
  std::string expected_;
};

uint32_t PlainCrc(std::string_view bytes);
std::string Little32(uint32_t value);

// A bit of everything, some of it larger than a tile.
Sample MixedSample();

}  // namespace dcpctl::test
