// What an input may ask for. Sizes in a file are claims; these bounds are compared with a claim before
// anything is allocated for it. All are far above what real checkpoints need.
#pragma once

#include <algorithm>
#include <cstdint>

namespace dcpctl {

struct Limits {
  // One pickle. The largest `.metadata` reported in the field has 227 MiB.
  uint64_t pickle_bytes = uint64_t{1} << 30;
  // One that is compressed where it lies, or 16 times as much as that takes, if it is more: the limit above in a
  // megabyte would be easily made. Pickles of real states get four to eleven times smaller.
  uint64_t compressed_pickle_bytes = uint64_t{12} << 20;
  // Nested containers in one pickle. CPython's own pickler gives up at about 1,000.
  uint32_t pickle_depth = 1000;
  // One archive's central directory: 46 bytes and a name each; 10^6 records take about 70 MB.
  uint64_t zip_directory_bytes = uint64_t{256} << 20;
  // Entries of a checkpoint and records of an archive.
  uint64_t entries = 10'000'000;
  // A record name or key. The zip format itself allows 65,535.
  uint64_t name_bytes = 65'535;
  // Dimensions of a tensor. PyTorch's own limit is 64.
  uint32_t rank = 64;
  // What an object (anything that is not a tensor) in a compressed item decodes to, or 16 times as much as it takes
  // there, if it is more.
  uint64_t object_bytes = uint64_t{1} << 30;
  // Ranks of a device mesh, or of a checkpoint that a layout is taken from. The largest published runs have about 10^5.
  uint64_t ranks = 1'000'000;
  // Boxes that a layout cuts all tensors into. 1,000 tensors over 16,384 ranks make 1.6 * 10^7.
  uint64_t boxes = 50'000'000;
  // A file that describes a layout.
  uint64_t layout_bytes = uint64_t{4} << 20;

  // Of a pickle that takes so many bytes compressed.
  [[nodiscard]] uint64_t PickleBytesFrom(uint64_t compressed) const {
    return std::min(pickle_bytes, std::max(compressed_pickle_bytes, TimesRatio(compressed)));
  }
  // Of an object that does.
  [[nodiscard]] uint64_t ObjectBytesFrom(uint64_t compressed) const {
    return std::max(object_bytes, TimesRatio(compressed));
  }

 private:
  static uint64_t TimesRatio(uint64_t compressed) {
    constexpr uint64_t kRatio = 16;
    return compressed > UINT64_MAX / kRatio ? UINT64_MAX : compressed * kRatio;
  }
};

}  // namespace dcpctl
