#include "plan/share.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace dcpctl {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

// Outputs that become one file: compressed ones, side by side under its name.
struct OutputFile {
  uint64_t outputs = 0;
  uint64_t bytes = 0;
  bool has_region = false;
};

std::vector<OutputFile> FilesIn(const Plan& plan) {
  std::vector<bool> has_region(plan.outputs.size());
  for (const Region& region : plan.regions) has_region[region.output] = true;
  std::vector<OutputFile> files;
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    if (i == 0 || plan.outputs[i].path != plan.outputs[i - 1].path) files.emplace_back();
    OutputFile& file = files.back();
    ++file.outputs;
    file.bytes += plan.outputs[i].bytes;
    file.has_region = file.has_region || has_region[i];
  }
  return files;
}

// How many processes neighbours make work for when none may have more than `most` bytes.
uint64_t ProcessesFor(const std::vector<uint64_t>& bytes, uint64_t most) {
  uint64_t processes = 1;
  uint64_t sum = 0;
  for (const uint64_t next : bytes) {
    if (next > most - sum) {
      ++processes;
      sum = 0;
    }
    sum += next;
  }
  return processes;
}

// The least that the process with most has to do.
uint64_t SmallestShare(const std::vector<uint64_t>& bytes, unsigned processes) {
  uint64_t low = bytes.empty() ? 0 : *std::max_element(bytes.begin(), bytes.end());
  uint64_t high = std::max(low, std::accumulate(bytes.begin(), bytes.end(), uint64_t{0}));
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (ProcessesFor(bytes, middle) <= processes) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

// Which process looks after the checksum of each source.
class Readers {
 public:
  Readers(const Plan& plan, const std::vector<unsigned>& owners) : bytes_(plan.sources.size()) {
    for (const Region& region : plan.regions) {
      for (uint64_t i = 0; i < region.piece_count; ++i) {
        const Piece& piece = plan.pieces[region.first_piece + i];
        const uint64_t elements = Numel(plan.SizeOf(region, piece)).value_or(0);
        bytes_[piece.source][owners[region.output]] += elements * region.item_bytes;
      }
    }
  }

  // Sources that two read alike are spread over both.
  [[nodiscard]] bool LooksAfter(unsigned process, uint32_t source) const {
    uint64_t most = 0;
    for (const auto& [reader, bytes] : bytes_[source]) most = std::max(most, bytes);
    std::vector<unsigned> best;
    for (const auto& [reader, bytes] : bytes_[source]) {
      if (bytes == most) best.push_back(reader);
    }
    return !best.empty() && best[source % best.size()] == process;
  }

 private:
  std::vector<std::map<unsigned, uint64_t>> bytes_;  // by source and process
};

class Sharing {
 public:
  Sharing(const Plan& plan, const std::vector<unsigned>& owners, unsigned process)
      : plan_(plan),
        owners_(owners),
        process_(process),
        sources_(plan.sources.size(), kNone),
        texts_(plan.texts.size(), kNone) {}

  Plan Run() {
    share_.files = plan_.files;
    share_.keys = plan_.keys;
    share_.dims = plan_.dims;
    share_.needs = plan_.needs;
    if (process_ == 0) share_.copies = plan_.copies;
    outputs_ = Number(plan_.outputs, share_.outputs, [](const PlanOutput&, size_t index) { return index; });
    regions_ = Number(plan_.regions, share_.regions, [](const Region& region, size_t) { return region.output; });
    for (const Literal& literal : plan_.literals) AddLiteral(literal);
    for (const Gap& gap : plan_.gaps) {
      if (owners_[gap.output] != process_) continue;
      share_.gaps.push_back(gap);
      share_.gaps.back().output = outputs_[gap.output];
    }
    const Readers readers(plan_, owners_);
    for (Region& region : share_.regions) TakePieces(region, readers);
    return std::move(share_);
  }

 private:
  // Keeps what belongs to an output of this process. The new numbers, by old ones.
  template <typename T, typename OutputOf>
  std::vector<uint32_t> Number(const std::vector<T>& all, std::vector<T>& kept, const OutputOf& output_of) {
    std::vector<uint32_t> numbers(all.size(), kNone);
    for (size_t i = 0; i < all.size(); ++i) {
      if (owners_[output_of(all[i], i)] != process_) continue;
      numbers[i] = static_cast<uint32_t>(kept.size());
      kept.push_back(all[i]);
    }
    return numbers;
  }

  void AddLiteral(const Literal& literal) {
    if (owners_[literal.output] != process_) return;
    uint32_t& text = texts_[literal.text];
    if (text == kNone) {
      text = static_cast<uint32_t>(share_.texts.size());
      share_.texts.push_back(plan_.TextOf(literal));
    }
    // Regions of one output stay side by side.
    share_.literals.push_back({.output = outputs_[literal.output],
                               .text = text,
                               .offset = literal.offset,
                               .first_region = share_.texts[text].holes.empty() ? 0 : regions_[literal.first_region]});
  }

  void TakePieces(Region& region, const Readers& readers) {
    region.output = outputs_[region.output];
    const uint64_t first = std::exchange(region.first_piece, share_.pieces.size());
    for (uint64_t i = 0; i < region.piece_count; ++i) {
      Piece piece = plan_.pieces[first + i];
      uint32_t& number = sources_[piece.source];
      if (number == kNone) {
        number = static_cast<uint32_t>(share_.sources.size());
        share_.sources.push_back(plan_.sources[piece.source]);
        if (!readers.LooksAfter(process_, piece.source)) share_.sources.back().stored.crc_known = false;
      }
      piece.source = number;
      share_.pieces.push_back(piece);
    }
  }

  const Plan& plan_;
  const std::vector<unsigned>& owners_;
  const unsigned process_;
  Plan share_;
  std::vector<uint32_t> outputs_;  // new numbers by old ones
  std::vector<uint32_t> regions_;
  std::vector<uint32_t> sources_;
  std::vector<uint32_t> texts_;
};

}  // namespace

std::vector<unsigned> ShareOutputs(const Plan& plan, unsigned processes) {
  const std::vector<OutputFile> files = FilesIn(plan);
  std::vector<uint64_t> bytes;
  for (const OutputFile& file : files) {
    if (file.has_region) bytes.push_back(file.bytes);
  }
  const uint64_t most = SmallestShare(bytes, processes);
  std::vector<unsigned> owners;
  unsigned process = 0;
  uint64_t sum = 0;
  for (const OutputFile& file : files) {
    if (file.has_region && file.bytes > most - sum) {
      ++process;
      sum = 0;
    }
    if (file.has_region) sum += file.bytes;
    owners.insert(owners.end(), file.outputs, file.has_region ? process : 0);
  }
  return owners;
}

Plan ShareOf(const Plan& plan, const std::vector<unsigned>& owners, unsigned process) {
  return Sharing(plan, owners, process).Run();
}

}  // namespace dcpctl
