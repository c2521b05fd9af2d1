// What has to be written, byte for byte, and where each byte comes from. A Plan is a value: equal inputs
// give equal plans, and nothing in it depends on threads, memory, ranks or devices; a schedule decides
// those. Outputs are made of literals (headers, pickles), gaps and regions (row-major tensors) that
// together cover every byte exactly once. Offsets and lengths are bytes unless a name says otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dcpctl/box.h"
#include "dcpctl/catalog.h"
#include "dcpctl/dtype.h"
#include "dcpctl/error.h"
#include "dcpctl/finding.h"

namespace dcpctl {

struct PlanOutput {
  std::string path;  // "-" is standard output
  uint64_t bytes = 0;
};

// A source file as the survey saw it. A run that finds another size or time stops: kMismatch.
struct PlanFile {
  std::string root;      // of the checkpoint
  std::string relative;  // below root; empty when root is the file itself
  uint64_t bytes = 0;
  int64_t mtime_ns = 0;
};

[[nodiscard]] std::string PathOf(const PlanFile& file);

// One stored storage that pieces are taken from. Its elements are found by strides, in elements.
struct PlanSource {
  uint32_t file = 0;  // into Plan::files
  StoredTensor stored;
  uint64_t record_offset = 0;  // Codec::kZstd: the encoded record
  uint64_t record_length = 0;
  uint64_t strides = 0;  // in the pool, as many as the region that uses it has dimensions
};

// A box of a source that fills a box of a region.
struct Piece {
  uint32_t source = 0;
  uint64_t dims = 0;  // in the pool: position in the region, position in the source, size; rank numbers each
};

// Elements that become ones of another type.
struct Cast {
  DType from = DType::kFloat32;
  DType to = DType::kFloat32;
};

// A row-major tensor in an output. Its pieces come from sources whose items have the size of `cast->from`.
struct Region {
  uint32_t output = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  uint32_t item_bytes = 1;
  uint32_t swap_unit = 1;
  uint32_t rank = 0;
  uint64_t shape = 0;  // in the pool
  uint64_t first_piece = 0;
  uint64_t piece_count = 0;
  std::optional<Cast> cast = std::nullopt;
  uint32_t key = 0;  // into Plan::keys, for messages
};

// Four bytes of a text that become the CRC-32 of a region, little-endian, once it is known.
struct Hole {
  uint64_t pos = 0;     // in Text::bytes
  uint32_t region = 0;  // counted from Literal::first_region
};

// What a literal says. Archives of tensors of one type and shape look alike: all of them share theirs.
struct Text {
  std::string bytes;
  std::vector<Hole> holes;  // not empty: written last, when the regions are done
};

struct Literal {
  uint32_t output = 0;
  uint32_t text = 0;  // into Plan::texts
  uint64_t offset = 0;
  uint32_t first_region = 0;  // into Plan::regions; of no meaning when the text has no holes
};

// Bytes of an output that are zero: room between archives.
struct Gap {
  uint32_t output = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// An output that is a source file as it is.
struct PlanCopy {
  uint32_t file = 0;  // into Plan::files
  std::string path;   // of the output
  bool link = false;  // as a second name for the same file: nothing is written
};

struct PlanNeeds {
  bool tensor_math = false;
  bool mpi = false;
  bool cuda = false;
};

struct Plan {
  std::vector<PlanFile> files;   // what sources are read from
  std::vector<PlanCopy> copies;  // beside the outputs
  std::vector<PlanOutput> outputs;
  // Each in the order of the outputs, and of offsets in them.
  std::vector<Literal> literals;
  std::vector<Gap> gaps;
  std::vector<Region> regions;
  std::vector<Piece> pieces;
  std::vector<PlanSource> sources;
  std::vector<Text> texts;
  std::vector<std::string> keys;  // of entries
  Dims dims;                      // the pool
  PlanNeeds needs;

  [[nodiscard]] const Text& TextOf(const Literal& literal) const { return texts[literal.text]; }
  [[nodiscard]] const std::string& KeyOf(const Region& region) const { return keys[region.key]; }

  [[nodiscard]] DimsView ShapeOf(const Region& region) const { return Pool(region.shape, region.rank); }
  [[nodiscard]] DimsView PositionOf(const Region& region, const Piece& piece) const {
    return Pool(piece.dims, region.rank);
  }
  [[nodiscard]] DimsView SourcePositionOf(const Region& region, const Piece& piece) const {
    return Pool(piece.dims + region.rank, region.rank);
  }
  [[nodiscard]] DimsView SizeOf(const Region& region, const Piece& piece) const {
    return Pool(piece.dims + 2 * uint64_t{region.rank}, region.rank);
  }
  [[nodiscard]] DimsView StridesOf(const Region& region, const PlanSource& source) const {
    return Pool(source.strides, region.rank);
  }

 private:
  [[nodiscard]] DimsView Pool(uint64_t first, uint64_t count) const { return DimsView(dims).subspan(first, count); }
};

// What a run will do or did, for reports. Copies and links are outputs, too; links take no bytes.
struct PlanSummary {
  std::vector<PlanOutput> outputs;
  uint64_t bytes_read = 0;
  uint64_t bytes_written = 0;
  uint64_t bytes_cloned = 0;
  uint64_t steps = 0;
  PlanNeeds needs;
  Findings findings;
};

[[nodiscard]] PlanSummary Summarize(const Plan& plan);

// Proves what every engine relies on: each output byte is written exactly once, the pieces of a region
// cover it exactly once and are sorted by position in its first dimension, sources lie inside their storages and those
// inside their files, parts are in the order of the outputs, holes lie inside their texts and sum regions of the same
// output, copies are of files that are there. A failure is kInternal: planners must not make such a plan, whatever the
// input.
[[nodiscard]] Result<void> CheckPlan(const Plan& plan);

}  // namespace dcpctl
