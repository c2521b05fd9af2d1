#include "plan/plan_builder.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace dcpctl {

PlanBuilder::PlanBuilder(const Catalog& catalog) : catalog_(catalog) {
  for (const SourceFile& file : catalog.files) {
    plan_.files.push_back(
        {.root = catalog.root.string(), .relative = file.path, .bytes = file.bytes, .mtime_ns = file.mtime_ns});
  }
}

uint32_t PlanBuilder::AddOutput(std::string path, uint64_t bytes) {
  plan_.outputs.push_back({.path = std::move(path), .bytes = bytes});
  return static_cast<uint32_t>(plan_.outputs.size() - 1);
}

void PlanBuilder::AddCopy(uint32_t file, std::string path, bool link) {
  plan_.copies.push_back({.file = file, .path = std::move(path), .link = link});
}

void PlanBuilder::AddGap(Gap gap) { plan_.gaps.push_back(gap); }

void PlanBuilder::AddLiteral(Literal literal) { plan_.literals.push_back(std::move(literal)); }

uint64_t PlanBuilder::AddDims(DimsView dims) {
  const uint64_t first = plan_.dims.size();
  plan_.dims.insert(plan_.dims.end(), dims.begin(), dims.end());
  return first;
}

const PlanBuilder::ChunkIndex& PlanBuilder::IndexOf(const Tensor& tensor) {
  const auto [found, is_new] = indexes_.try_emplace(&tensor);
  ChunkIndex& index = found->second;
  if (!is_new) return index;
  for (uint64_t c = tensor.first_chunk; c < tensor.first_chunk + tensor.chunk_count; ++c) {
    const BoxView box = catalog_.BoxOf(tensor, catalog_.chunks[c]);
    if (IsEmpty(box)) continue;
    index.chunks.push_back(c);
    if (!box.sizes.empty()) index.largest_extent = std::max(index.largest_extent, box.sizes[0]);
  }
  std::stable_sort(index.chunks.begin(), index.chunks.end(), [&](uint64_t a, uint64_t b) {
    const DimsView left = catalog_.BoxOf(tensor, catalog_.chunks[a]).offsets;
    const DimsView right = catalog_.BoxOf(tensor, catalog_.chunks[b]).offsets;
    return std::lexicographical_compare(left.begin(), left.end(), right.begin(), right.end());
  });
  return index;
}

uint32_t PlanBuilder::SourceOf(const Tensor& tensor, uint64_t chunk_index) {
  const auto [found, is_new] = sources_.try_emplace(chunk_index, static_cast<uint32_t>(plan_.sources.size()));
  if (is_new) {
    const Chunk& chunk = catalog_.chunks[chunk_index];
    plan_.sources.push_back({.file = chunk.file,
                             .stored = chunk.stored,
                             .record_offset = chunk.offset,
                             .record_length = chunk.length,
                             .strides = AddDims(catalog_.StridesOf(tensor, chunk))});
  }
  return found->second;
}

uint32_t PlanBuilder::AddTensor(uint32_t output, uint64_t offset, const Tensor& tensor) {
  const Dims zeros(tensor.shape.size(), 0);
  return AddBox(output, offset, tensor, {zeros, tensor.shape});
}

uint32_t PlanBuilder::AddBox(uint32_t output, uint64_t offset, const Tensor& tensor, BoxView box) {
  const uint64_t item = ItemBytes(tensor.dtype);
  const DType stored_type = tensor.stored_dtype.value_or(tensor.dtype);
  const ChunkIndex& index = IndexOf(tensor);
  Region region{.output = output,
                .offset = offset,
                .bytes = Numel(box.sizes).value_or(0) * item,
                .item_bytes = static_cast<uint32_t>(item),
                .swap_unit = static_cast<uint32_t>(SwapUnit(stored_type)),
                .rank = static_cast<uint32_t>(tensor.shape.size()),
                .shape = AddDims(box.sizes),
                .first_piece = plan_.pieces.size(),
                .key = tensor.key};
  if (stored_type != tensor.dtype) {
    region.cast = Cast{.from = stored_type, .to = tensor.dtype};
    plan_.needs.tensor_math = true;
  }
  auto chunk = index.chunks.begin();
  if (!box.offsets.empty()) {
    const uint64_t lowest = box.offsets[0] - std::min(box.offsets[0], index.largest_extent - 1);
    chunk = std::lower_bound(index.chunks.begin(), index.chunks.end(), lowest, [&](uint64_t c, uint64_t at) {
      return catalog_.BoxOf(tensor, catalog_.chunks[c]).offsets[0] < at;
    });
  }
  Dims position(box.offsets.size());
  Dims source_position(box.offsets.size());
  for (; chunk != index.chunks.end(); ++chunk) {
    const BoxView stored = catalog_.BoxOf(tensor, catalog_.chunks[*chunk]);
    if (!box.offsets.empty() && stored.offsets[0] >= box.offsets[0] + box.sizes[0]) break;
    const auto common = Intersect(stored, box);
    if (!common) continue;
    for (size_t d = 0; d < position.size(); ++d) {
      position[d] = common->offsets[d] - box.offsets[d];
      source_position[d] = common->offsets[d] - stored.offsets[d];
    }
    const uint32_t source = SourceOf(tensor, *chunk);
    const uint64_t dims = AddDims(position);
    AddDims(source_position);
    AddDims(common->sizes);
    plan_.pieces.push_back({.source = source, .dims = dims});
  }
  region.piece_count = plan_.pieces.size() - region.first_piece;
  plan_.regions.push_back(std::move(region));
  return static_cast<uint32_t>(plan_.regions.size() - 1);
}

uint32_t PlanBuilder::AddStorage(uint32_t output, uint64_t offset, const Object& object, const ObjectStorage& storage) {
  PlanSource source{.file = storage.file,
                    .stored = storage.stored,
                    .record_offset = storage.record_offset,
                    .record_length = storage.record_length,
                    .strides = AddDims(std::array<uint64_t, 1>{1})};
  const uint32_t unit = storage.stored.big_endian ? storage.swap_unit : 1;
  const uint64_t items = storage.stored.bytes / unit;
  Region region{.output = output,
                .offset = offset,
                .bytes = storage.stored.bytes,
                .item_bytes = unit,
                .swap_unit = unit,
                .rank = 1,
                .shape = AddDims(std::array{items}),
                .first_piece = plan_.pieces.size(),
                .piece_count = 0,
                .key = object.key};
  if (storage.stored.bytes > 0) {
    plan_.pieces.push_back(
        {.source = static_cast<uint32_t>(plan_.sources.size()), .dims = AddDims(std::array<uint64_t, 3>{0, 0, items})});
    plan_.sources.push_back(source);
    region.piece_count = 1;
  }
  plan_.regions.push_back(std::move(region));
  return static_cast<uint32_t>(plan_.regions.size() - 1);
}

Plan PlanBuilder::Finish() && { return std::move(plan_); }

}  // namespace dcpctl
