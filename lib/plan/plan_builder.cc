#include "plan/plan_builder.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

namespace dcpctl {

PlanBuilder::PlanBuilder(const Catalog& catalog) : catalog_(catalog), indexes_(catalog.tensors.size()) {
  for (const SourceFile& file : catalog.files) {
    plan_.files.push_back(
        {.root = catalog.root.string(), .relative = file.path, .bytes = file.bytes, .mtime_ns = file.mtime_ns});
  }
}

// Boxes and chunks that are cut along one dimension have a piece where either begins.
void PlanBuilder::Reserve(size_t boxes, size_t dims) {
  const size_t chunks = catalog_.chunks.size();
  const size_t chunk_dims = catalog_.dims.size() / 3;
  plan_.literals.reserve(2 * boxes);
  plan_.gaps.reserve(boxes);
  plan_.regions.reserve(boxes);
  plan_.pieces.reserve(boxes + chunks);
  plan_.sources.reserve(chunks);
  plan_.dims.reserve(dims + 3 * (dims + chunk_dims) + chunk_dims);
}

uint32_t PlanBuilder::AddOutput(std::string path, uint64_t bytes) {
  plan_.outputs.push_back({.path = std::move(path), .bytes = bytes});
  return static_cast<uint32_t>(plan_.outputs.size() - 1);
}

void PlanBuilder::AddCopy(uint32_t file, std::string path, bool link) {
  plan_.copies.push_back({.file = file, .path = std::move(path), .link = link});
}

void PlanBuilder::AddGap(Gap gap) { plan_.gaps.push_back(gap); }

uint32_t PlanBuilder::AddText(Text text) {
  plan_.texts.push_back(std::move(text));
  return static_cast<uint32_t>(plan_.texts.size() - 1);
}

void PlanBuilder::AddLiteral(Literal literal) { plan_.literals.push_back(literal); }

uint64_t PlanBuilder::AddDims(DimsView dims) {
  const uint64_t first = plan_.dims.size();
  for (const uint64_t dim : dims) plan_.dims.push_back(dim);  // an insert of so few takes several times as long
  return first;
}

uint32_t PlanBuilder::AddKey(std::string_view key) {
  if (plan_.keys.empty() || plan_.keys.back() != key) plan_.keys.emplace_back(key);
  return static_cast<uint32_t>(plan_.keys.size() - 1);
}

PlanBuilder::ChunkIndex& PlanBuilder::IndexOf(const Tensor& tensor) {
  ChunkIndex& index = indexes_[static_cast<size_t>(&tensor - catalog_.tensors.data())];
  if (index.key != kNone) return index;
  index.key = AddKey(tensor.key);
  const size_t rank = tensor.shape.size();
  index.chunks.reserve(tensor.chunk_count);
  for (uint64_t c = tensor.first_chunk; c < tensor.first_chunk + tensor.chunk_count; ++c) {
    const BoxView box = catalog_.BoxOf(tensor, catalog_.chunks[c]);
    if (IsEmpty(box)) continue;
    index.chunks.push_back({.start = rank == 0 ? 0 : box.offsets[0], .dims = catalog_.chunks[c].dims, .chunk = c});
    if (rank > 0) index.largest_extent = std::max(index.largest_extent, box.sizes[0]);
  }
  const auto is_before = [&](const IndexedChunk& a, const IndexedChunk& b) {
    return std::ranges::lexicographical_compare(DimsView(catalog_.dims).subspan(a.dims, rank),
                                                DimsView(catalog_.dims).subspan(b.dims, rank));
  };
  // They mostly are, and looking is much cheaper than sorting.
  if (!std::ranges::is_sorted(index.chunks, is_before)) std::ranges::stable_sort(index.chunks, is_before);
  return index;
}

// The first chunk that starts at `lowest` or after it.
size_t PlanBuilder::FindFirst(ChunkIndex& index, uint64_t lowest) {
  const std::vector<IndexedChunk>& chunks = index.chunks;
  if (index.last > 0 && chunks[index.last - 1].start >= lowest) index.last = 0;
  // Steps that grow, until the range that is left has it.
  size_t step = 1;
  while (index.last + step <= chunks.size() && chunks[index.last + step - 1].start < lowest) {
    index.last += step;
    step *= 2;
  }
  const auto range = std::span(chunks).subspan(index.last, std::min(step, chunks.size() - index.last));
  const auto found = std::ranges::lower_bound(range, lowest, {}, &IndexedChunk::start);
  index.last += static_cast<size_t>(found - range.begin());
  return index.last;
}

uint32_t PlanBuilder::SourceOf(const Tensor& tensor, IndexedChunk& indexed) {
  if (indexed.source == kNone) {
    indexed.source = static_cast<uint32_t>(plan_.sources.size());
    const Chunk& chunk = catalog_.chunks[indexed.chunk];
    plan_.sources.push_back({.file = chunk.file,
                             .stored = chunk.stored,
                             .record_offset = chunk.offset,
                             .record_length = chunk.length,
                             .strides = AddDims(catalog_.StridesOf(tensor, chunk))});
  }
  return indexed.source;
}

// Of what a chunk and a box have in common, if anything.
void PlanBuilder::AddPiece(const Tensor& tensor, IndexedChunk& chunk, BoxView box) {
  const size_t rank = box.offsets.size();
  const BoxView stored{DimsView(catalog_.dims).subspan(chunk.dims, rank),
                       DimsView(catalog_.dims).subspan(chunk.dims + rank, rank)};
  const auto begin = [&](size_t d) { return std::max(stored.offsets[d], box.offsets[d]); };
  const auto end = [&](size_t d) {
    return std::min(stored.offsets[d] + stored.sizes[d], box.offsets[d] + box.sizes[d]);
  };
  for (size_t d = 0; d < rank; ++d) {
    if (begin(d) >= end(d)) return;
  }
  const uint32_t source = SourceOf(tensor, chunk);
  const uint64_t dims = plan_.dims.size();
  for (size_t d = 0; d < rank; ++d) plan_.dims.push_back(begin(d) - box.offsets[d]);
  for (size_t d = 0; d < rank; ++d) plan_.dims.push_back(begin(d) - stored.offsets[d]);
  for (size_t d = 0; d < rank; ++d) plan_.dims.push_back(end(d) - begin(d));
  plan_.pieces.push_back({.source = source, .dims = dims});
}

uint32_t PlanBuilder::AddTensor(uint32_t output, uint64_t offset, const Tensor& tensor) {
  const Dims zeros(tensor.shape.size(), 0);
  return AddBox(output, offset, tensor, {zeros, tensor.shape});
}

uint32_t PlanBuilder::AddBox(uint32_t output, uint64_t offset, const Tensor& tensor, BoxView box) {
  const uint64_t item = ItemBytes(tensor.dtype);
  const DType stored_type = tensor.stored_dtype.value_or(tensor.dtype);
  ChunkIndex& index = IndexOf(tensor);
  Region region{.output = output,
                .offset = offset,
                .bytes = Numel(box.sizes).value_or(0) * item,
                .item_bytes = static_cast<uint32_t>(item),
                .swap_unit = static_cast<uint32_t>(SwapUnit(stored_type)),
                .rank = static_cast<uint32_t>(tensor.shape.size()),
                .shape = AddDims(box.sizes),
                .first_piece = plan_.pieces.size(),
                .key = index.key};
  if (stored_type != tensor.dtype) {
    region.cast = Cast{.from = stored_type, .to = tensor.dtype};
    plan_.needs.tensor_math = true;
  }
  // An empty box begins and ends at once.
  const uint64_t begin = box.offsets.empty() ? 0 : box.offsets[0];
  const uint64_t end = box.offsets.empty() ? 1 : begin + box.sizes[0];
  const uint64_t lowest = begin - std::min(begin, index.largest_extent - 1);
  for (size_t next = FindFirst(index, lowest); next < index.chunks.size() && index.chunks[next].start < end; ++next)
    AddPiece(tensor, index.chunks[next], box);
  region.piece_count = plan_.pieces.size() - region.first_piece;
  plan_.regions.push_back(region);
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
                .key = AddKey(object.key)};
  if (storage.stored.bytes > 0) {
    plan_.pieces.push_back(
        {.source = static_cast<uint32_t>(plan_.sources.size()), .dims = AddDims(std::array<uint64_t, 3>{0, 0, items})});
    plan_.sources.push_back(source);
    region.piece_count = 1;
  }
  plan_.regions.push_back(region);
  return static_cast<uint32_t>(plan_.regions.size() - 1);
}

Plan PlanBuilder::Finish() && { return std::move(plan_); }

}  // namespace dcpctl
