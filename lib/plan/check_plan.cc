#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/quote.h"
#include "base/result.h"
#include "base/text_hash.h"
#include "dcpctl/plan.h"
#include "model/coverage.h"
#include "plan/parts.h"
#include "plan/region.h"

namespace dcpctl {
namespace {

auto Bug(std::string message) { return Fail(ErrorKind::kInternal, "plan: " + std::move(message)); }

// Literals, gaps and regions, laid end to end, are the outputs.
Result<void> CheckOutputs(const Plan& plan) {
  std::vector<uint64_t> end(plan.outputs.size(), 0);
  Result<void> checked;
  ForEachPart(plan, [&](const Part& part) {
    if (!checked) return;
    if (part.output >= end.size()) {
      checked = Bug("output " + std::to_string(part.output) + " is not there");
    } else if (part.offset != end[part.output]) {
      checked = Bug("bytes up to " + std::to_string(end[part.output]) + " are written and the next begin at " +
                    std::to_string(part.offset));
    } else {
      end[part.output] += part.bytes;
    }
  });
  DCPCTL_TRY(std::move(checked));
  for (size_t i = 0; i < end.size(); ++i) {
    if (end[i] != plan.outputs[i].bytes)
      return Bug(std::to_string(end[i]) + " bytes are written of " + std::to_string(plan.outputs[i].bytes));
  }
  return {};
}

Result<void> CheckCopies(const Plan& plan) {
  TextViewSet names;
  for (const PlanOutput& output : plan.outputs) names.insert(output.path);
  for (const PlanCopy& copy : plan.copies) {
    if (copy.file >= plan.files.size()) return Bug("a copy has no file");
    if (!names.insert(copy.path).second) return Bug("two outputs are called " + Quote(copy.path));
  }
  return {};
}

Result<void> CheckTexts(const Plan& plan) {
  for (const Text& text : plan.texts) {
    for (const Hole& hole : text.holes) {
      if (!InRange(hole.pos, sizeof(uint32_t), text.bytes.size())) return Bug("a checksum has no place");
    }
  }
  for (const Literal& literal : plan.literals) {
    for (const Hole& hole : plan.TextOf(literal).holes) {
      const uint64_t region = uint64_t{literal.first_region} + hole.region;
      if (region >= plan.regions.size()) return Bug("a checksum is of nothing");
      if (plan.regions[region].output != literal.output) return Bug("a checksum is in another output");
    }
  }
  return {};
}

// The element with the highest number that a box at `from` touches, plus one; nothing on overflow.
std::optional<uint64_t> ElementsNeeded(uint64_t first, DimsView from, DimsView sizes, DimsView strides) {
  std::optional<uint64_t> last = first;
  for (size_t d = 0; d < sizes.size() && last; ++d) {
    const auto step = CheckedMul(from[d] + sizes[d] - 1, strides[d]);
    last = step ? CheckedAdd(*last, *step) : std::nullopt;
  }
  return last ? CheckedAdd(*last, 1) : std::nullopt;
}

Result<void> CheckPiece(const Plan& plan, const Region& region, const Piece& piece) {
  if (piece.source >= plan.sources.size()) return Bug("a piece of " + Quote(plan.KeyOf(region)) + " has no source");
  const PlanSource& source = plan.sources[piece.source];
  const DimsView sizes = plan.SizeOf(region, piece);
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end())
    return Bug("an empty piece in " + Quote(plan.KeyOf(region)));
  const auto needed = ElementsNeeded(source.stored.first_element, plan.SourcePositionOf(region, piece), sizes,
                                     plan.StridesOf(region, source));
  const auto bytes = needed ? CheckedMul(*needed, SourceItemBytes(region)) : std::nullopt;
  if (!bytes || *bytes > source.stored.bytes)
    return Bug("a piece of " + Quote(plan.KeyOf(region)) + " reads past its storage");
  return {};
}

// Engines find the pieces of a part of a region by search.
Result<void> CheckOrder(const Plan& plan, const Region& region) {
  for (uint64_t i = 1; region.rank > 0 && i < region.piece_count; ++i) {
    const Piece* piece = &plan.pieces[region.first_piece + i];
    if (plan.PositionOf(region, *piece)[0] < plan.PositionOf(region, piece[-1])[0])
      return Bug("pieces of " + Quote(plan.KeyOf(region)) + " are out of order");
  }
  return {};
}

// Engines ask for the plug-in once, before they begin.
Result<void> CheckCast(const Plan& plan, const Region& region) {
  if (!region.cast) return {};
  if (!plan.needs.tensor_math) return Bug("a cast of " + Quote(plan.KeyOf(region)) + " that nobody expects");
  if (ItemBytes(region.cast->to) != region.item_bytes) return Bug("type of " + Quote(plan.KeyOf(region)));
  return {};
}

Result<void> CheckRegion(const Plan& plan, const Region& region) {
  if (region.key >= plan.keys.size()) return Bug("a region has no key");
  DCPCTL_TRY(CheckCast(plan, region));
  const DimsView shape = plan.ShapeOf(region);
  const auto numel = Numel(shape);
  if (!numel || CheckedMul(*numel, region.item_bytes) != region.bytes)
    return Bug("length of " + Quote(plan.KeyOf(region)));
  if (!InRange(region.first_piece, region.piece_count, plan.pieces.size()))
    return Bug("pieces of " + Quote(plan.KeyOf(region)));
  for (uint64_t i = 0; i < region.piece_count; ++i)
    DCPCTL_TRY(CheckPiece(plan, region, plan.pieces[region.first_piece + i]));
  DCPCTL_TRY(CheckOrder(plan, region));
  const Coverage coverage = CheckCoverage(shape, region.piece_count, [&](uint64_t i) {
    const Piece& piece = plan.pieces[region.first_piece + i];
    return BoxView{plan.PositionOf(region, piece), plan.SizeOf(region, piece)};
  });
  if (!coverage.ok()) return Bug("pieces do not tile " + Quote(plan.KeyOf(region)));
  return {};
}

Result<void> CheckSource(const Plan& plan, const PlanSource& source) {
  if (source.file >= plan.files.size()) return Bug("a source has no file");
  const bool whole_record = source.stored.codec == Codec::kZstd;
  const uint64_t offset = whole_record ? source.record_offset : source.stored.offset;
  const uint64_t length = whole_record                             ? source.record_length
                          : source.stored.codec == Codec::kDeflate ? source.stored.encoded_bytes
                                                                   : source.stored.bytes;
  if (!InRange(offset, length, plan.files[source.file].bytes))
    return Bug("a source lies outside " + Quote(plan.files[source.file].relative));
  return {};
}

}  // namespace

Result<void> CheckPlan(const Plan& plan) {
  const auto has_text = [&](const Literal& literal) { return literal.text < plan.texts.size(); };
  if (!std::ranges::all_of(plan.literals, has_text)) return Bug("a literal has no text");
  DCPCTL_TRY(CheckOutputs(plan));
  DCPCTL_TRY(CheckCopies(plan));
  DCPCTL_TRY(CheckTexts(plan));
  for (const PlanSource& source : plan.sources) DCPCTL_TRY(CheckSource(plan, source));
  uint32_t output = 0;
  for (const Region& region : plan.regions) {
    if (region.output < std::exchange(output, region.output)) return Bug("regions are out of order");
    DCPCTL_TRY(CheckRegion(plan, region));
  }
  return {};
}

}  // namespace dcpctl
