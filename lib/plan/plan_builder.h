// Matches what a catalog has with what an output wants: the one place where chunks become pieces.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "dcpctl/catalog.h"
#include "dcpctl/plan.h"

namespace dcpctl {

class PlanBuilder {
 public:
  // The catalog must outlive the builder.
  explicit PlanBuilder(const Catalog& catalog);

  uint32_t AddOutput(std::string path, uint64_t bytes);
  // A file of the catalog as it is.
  void AddCopy(uint32_t file, std::string path, bool link);
  void AddLiteral(Literal literal);
  void AddGap(Gap gap);
  // Regions are numbered in the order in which they are added, from 0. A box of a tensor, from the surveyed
  // chunks that meet it; empty chunks give nothing.
  uint32_t AddBox(uint32_t output, uint64_t offset, const Tensor& tensor, BoxView box);
  // All of a tensor.
  uint32_t AddTensor(uint32_t output, uint64_t offset, const Tensor& tensor);
  // The storage of a tensor inside an object, as it is.
  uint32_t AddStorage(uint32_t output, uint64_t offset, const Object& object, const ObjectStorage& storage);

  Plan Finish() &&;

 private:
  // Chunks of a tensor with elements, by position. The largest extent in the first dimension bounds the
  // search for those that meet a box.
  struct ChunkIndex {
    std::vector<uint64_t> chunks;  // into Catalog::chunks
    uint64_t largest_extent = 1;
  };

  uint64_t AddDims(DimsView dims);
  const ChunkIndex& IndexOf(const Tensor& tensor);
  uint32_t SourceOf(const Tensor& tensor, uint64_t chunk);

  const Catalog& catalog_;
  Plan plan_;
  std::unordered_map<const Tensor*, ChunkIndex> indexes_;
  std::unordered_map<uint64_t, uint32_t> sources_;  // by chunk
};

}  // namespace dcpctl
