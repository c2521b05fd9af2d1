#include "ops/dcp_placement.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/quote.h"
#include "base/result.h"
#include "dcp/naming.h"

namespace dcpctl::ops {
namespace {

std::string DataFileName(uint64_t rank) { return "__" + std::to_string(rank) + "_0.distcp"; }

// All of a tensor; nothing of an object.
Box WholeBox(const Catalog& catalog, EntryRef entry) {
  if (!entry.is_tensor) return {};
  const Shape shape = catalog.tensors[entry.index].shape;
  return {.offsets = Dims(shape.size(), 0), .sizes = shape.Copy()};
}

// One more than the highest rank that a file's name tells.
uint64_t NextRank(const Catalog& catalog) {
  uint64_t next = 0;
  for (const SourceFile& file : catalog.files) {
    if (file.rank) next = std::max(next, *file.rank + 1);
  }
  return next;
}

// For each source file its new one.
std::vector<uint32_t> NumberFiles(const Catalog& catalog, DcpOutputOptions& output) {
  std::map<uint64_t, uint32_t> of_rank;
  uint64_t next_rank = NextRank(catalog);
  std::vector<uint32_t> file_of(catalog.files.size());
  for (size_t f = 0; f < catalog.files.size(); ++f) {
    if (catalog.files[f].entries == 0) continue;
    const uint64_t rank = catalog.files[f].rank ? *catalog.files[f].rank : next_rank++;
    const auto [found, is_new] = of_rank.try_emplace(rank, static_cast<uint32_t>(output.files.size()));
    if (is_new) output.files.push_back({.name = DataFileName(rank)});
    file_of[f] = found->second;
  }
  return file_of;
}

bool IsMade(const Placing& what, size_t entry) { return !what.made.empty() && what.made[entry]; }

}  // namespace

void PlaceWhole(const Placing& what, DcpOutputOptions& output) {
  output.files = {{.name = DataFileName(0)}};
  for (uint32_t e = 0; e < what.catalog.entries.size(); ++e) {
    if (what.selected[e])
      output.AddItem({.entry = e, .file = 0}, WholeBox(what.catalog, what.catalog.entries[e]).view());
  }
}

void PlaceChunks(const Placing& what, DcpOutputOptions& output) {
  const Catalog& catalog = what.catalog;
  const std::vector<uint32_t> file_of = NumberFiles(catalog, output);
  for (uint32_t e = 0; e < catalog.entries.size(); ++e) {
    if (!what.selected[e]) continue;
    const EntryRef entry = catalog.entries[e];
    if (!entry.is_tensor) {
      const uint32_t file = IsMade(what, e) ? 0 : file_of[catalog.objects[entry.index].file];
      output.AddItem({.entry = e, .file = file}, {});
      continue;
    }
    const Tensor& tensor = catalog.tensors[entry.index];
    for (const Chunk& chunk : catalog.ChunksOf(tensor))
      output.AddItem({.entry = e, .file = file_of[chunk.file]}, catalog.BoxOf(tensor, chunk));
  }
}

void PlaceRanks(const RankLayout& layout, DcpOutputOptions& output) {
  std::vector<uint32_t> file_of(layout.ranks.size(), kNoFile);
  for (uint32_t rank = 0; rank < layout.ranks.size(); ++rank) {
    if (layout.ranks[rank].pieces == 0) continue;
    file_of[rank] = static_cast<uint32_t>(output.files.size());
    output.files.push_back({.name = DataFileName(rank)});
  }
  output.items.reserve(layout.pieces.size());
  output.dims.reserve(layout.dims.size());
  for (const RankPiece& piece : layout.pieces)
    output.AddItem({.entry = piece.entry, .file = file_of[piece.rank]}, layout.BoxOf(piece));
}

Result<void> PlaceRecords(const Placing& what, DcpOutputOptions& output) {
  const Catalog& catalog = what.catalog;
  std::vector<uint32_t> file_of(catalog.files.size(), kNoFile);
  const auto adopt = [&](uint32_t file) {
    if (file_of[file] == kNoFile) {
      file_of[file] = static_cast<uint32_t>(output.files.size());
      output.files.push_back({.name = catalog.files[file].path, .adopted = file});
    }
    return file_of[file];
  };
  std::optional<uint32_t> new_file;
  for (uint32_t e = 0; e < catalog.entries.size(); ++e) {
    if (!what.selected[e]) continue;
    const EntryRef entry = catalog.entries[e];
    if (IsMade(what, e)) {
      if (output.data == DataPolicy::kNone) {
        return Fail(
            Error(ErrorKind::kUnsupported,
                  "entry " + Quote(catalog.KeyOf(entry)) +
                      " has to be written anew for the PyTorch that was asked for, and only the metadata may be")
                .Advise("use --data copy, which adds a small file for such entries"));
      }
      if (!new_file) {
        new_file = static_cast<uint32_t>(output.files.size());
        output.files.push_back({.name = DataFileName(NextRank(catalog))});
      }
      output.AddItem({.entry = e, .file = *new_file}, WholeBox(catalog, entry).view());
      continue;
    }
    if (!entry.is_tensor) {
      const Object& object = catalog.objects[entry.index];
      output.AddItem({.entry = e,
                      .file = adopt(object.file),
                      .place = {.offset = object.offset, .length = object.length},
                      .transforms = object.transforms},
                     {});
      continue;
    }
    const Tensor& tensor = catalog.tensors[entry.index];
    for (const Chunk& chunk : catalog.ChunksOf(tensor)) {
      output.AddItem({.entry = e,
                      .file = adopt(chunk.file),
                      .place = {.offset = chunk.offset, .length = chunk.length},
                      .transforms = chunk.transforms},
                     catalog.BoxOf(tensor, chunk));
    }
  }
  for (const DcpFile& file : output.files) {
    if (file.adopted != kNoFile && file.name == dcp::kMetadataName)
      return Fail(Place{.file = catalog.root.string()}, ErrorKind::kCorrupt,
                  "records lie in " + Quote(file.name) + ", expected them in a data file");
  }
  return {};
}

}  // namespace dcpctl::ops
