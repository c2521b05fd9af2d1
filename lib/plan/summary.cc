#include <filesystem>

#include "dcpctl/plan.h"

namespace dcpctl {

std::string PathOf(const PlanFile& file) {
  return file.relative.empty() ? file.root : (std::filesystem::path(file.root) / file.relative).string();
}

PlanSummary Summarize(const Plan& plan) {
  PlanSummary summary{
      .outputs = plan.outputs, .steps = plan.literals.size() + plan.pieces.size(), .needs = plan.needs, .findings = {}};
  for (const PlanOutput& output : plan.outputs) summary.bytes_written += output.bytes;
  for (const PlanSource& source : plan.sources) {
    summary.bytes_read += source.stored.codec == Codec::kZstd      ? source.record_length
                          : source.stored.codec == Codec::kDeflate ? source.stored.encoded_bytes
                                                                   : source.stored.bytes;
  }
  return summary;
}

}  // namespace dcpctl
