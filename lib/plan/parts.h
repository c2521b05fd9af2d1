// What outputs are made of, one after the other.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "dcpctl/plan.h"
#include "plan/schedule.h"

namespace dcpctl {

struct Part {
  StepKind kind = StepKind::kLiteral;
  uint32_t index = 0;  // into Plan::literals, gaps or regions
  uint32_t output = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// The index of what comes after the last part.
inline constexpr uint32_t kNoPart = UINT32_MAX;

inline bool IsBefore(const Part& a, const Part& b) {
  if (a.index == kNoPart || b.index == kNoPart) return a.index < b.index;
  return a.output != b.output ? a.output < b.output : a.offset < b.offset;
}

inline uint64_t PartCount(const Plan& plan) { return plan.literals.size() + plan.gaps.size() + plan.regions.size(); }

// Calls fn(part) with all literals, gaps and regions that have bytes: in the order of the outputs and of offsets in
// them, as each of the three is (see CheckPlan).
template <typename Fn>
void ForEachPart(const Plan& plan, const Fn& fn) {
  const auto make = [](StepKind kind, const auto& of, size_t index, const auto& bytes) {
    if (index == of.size()) return Part{.index = kNoPart};
    return Part{kind, static_cast<uint32_t>(index), of[index].output, of[index].offset, bytes(of[index])};
  };
  const auto literal = [&](size_t i) {
    return make(StepKind::kLiteral, plan.literals, i, [&](const Literal& l) { return plan.TextOf(l).bytes.size(); });
  };
  const auto gap = [&](size_t i) { return make(StepKind::kGap, plan.gaps, i, [](const Gap& g) { return g.bytes; }); };
  const auto region = [&](size_t i) {
    return make(StepKind::kRegion, plan.regions, i, [](const Region& r) { return r.bytes; });
  };
  std::array next = {literal(0), gap(0), region(0)};
  for (uint64_t left = PartCount(plan); left > 0; --left) {
    Part& first = *std::ranges::min_element(next, IsBefore);
    if (first.bytes != 0) fn(std::as_const(first));
    const size_t i = first.index + size_t{1};
    first = first.kind == StepKind::kLiteral ? literal(i) : first.kind == StepKind::kGap ? gap(i) : region(i);
  }
}

}  // namespace dcpctl
