// Matches what a catalog has with what an output wants: the one place where chunks become pieces.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dcpctl/catalog.h"
#include "dcpctl/plan.h"

namespace dcpctl {

class PlanBuilder {
 public:
  // The catalog must outlive the builder.
  explicit PlanBuilder(const Catalog& catalog);

  // Room for so many boxes with so many dimensions in all. A guess that is wrong costs time alone.
  void Reserve(size_t boxes, size_t dims);

  uint32_t AddOutput(std::string path, uint64_t bytes);
  // A file of the catalog as it is.
  void AddCopy(uint32_t file, std::string path, bool link);
  // Texts are numbered likewise.
  uint32_t AddText(Text text);
  void AddLiteral(Literal literal);
  void AddGap(Gap gap);
  // Regions are numbered in the order in which they are added, from 0. A box of a tensor of the catalog, from the
  // surveyed chunks that meet it; empty chunks give nothing.
  uint32_t AddBox(uint32_t output, uint64_t offset, const Tensor& tensor, BoxView box);
  // All of a tensor.
  uint32_t AddTensor(uint32_t output, uint64_t offset, const Tensor& tensor);
  // The storage of a tensor inside an object, as it is.
  uint32_t AddStorage(uint32_t output, uint64_t offset, const Object& object, const ObjectStorage& storage);

  [[nodiscard]] size_t region_count() const { return plan_.regions.size(); }

  Plan Finish() &&;

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  // A chunk with elements, and what is asked for most.
  struct IndexedChunk {
    uint64_t start = 0;  // in the first dimension; 0 when there is none
    uint64_t dims = 0;   // Chunk::dims
    uint64_t chunk = 0;  // into Catalog::chunks
    uint32_t source = kNone;
  };

  // Those of a tensor, by position. The largest extent in the first dimension bounds the search for those that meet a
  // box.
  struct ChunkIndex {
    std::vector<IndexedChunk> chunks;
    uint64_t largest_extent = 1;
    size_t last = 0;       // where the last search ended: boxes mostly come in order
    uint32_t key = kNone;  // into Plan::keys; kNone before the first use
  };

  uint64_t AddDims(DimsView dims);
  uint32_t AddKey(std::string_view key);
  ChunkIndex& IndexOf(const Tensor& tensor);
  static size_t FindFirst(ChunkIndex& index, uint64_t lowest);
  uint32_t SourceOf(const Tensor& tensor, IndexedChunk& chunk);
  void AddPiece(const Tensor& tensor, IndexedChunk& chunk, BoxView box);

  const Catalog& catalog_;
  Plan plan_;
  std::vector<ChunkIndex> indexes_;  // by tensor
};

}  // namespace dcpctl
