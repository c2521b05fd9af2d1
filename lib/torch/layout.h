// Lays out a whole torch.save archive: records, order and alignment as PyTorch's, so that it loads with
// weights_only and with mmap in every version from 1.6 on. It has no `.format_version` record: with that,
// PyTorch computes storage offsets by rules of its own instead of reading them.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "dcpctl/error.h"
#include "zip/layout.h"

namespace dcpctl::torch {

struct NewStorage {
  uint64_t bytes = 0;
  uint64_t alignment = 64;  // PyTorch's; a multiple of the block size helps direct I/O
};

// `pickle` is what `data.pkl` holds. Storages are called by their position, in decimal, in its persistent ids; slot ids
// are these positions, too. Errors: those of zip::LayoutBuilder.
Result<zip::ArchiveLayout> MakeTorchLayout(std::string pickle, std::span<const NewStorage> storages);

}  // namespace dcpctl::torch
