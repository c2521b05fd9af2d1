#include <filesystem>

#include "dcpctl/plan.h"

namespace dcpctl {

std::string PathOf(const PlanFile& file) {
  return file.relative.empty() ? file.root : (std::filesystem::path(file.root) / file.relative).string();
}

PlanSummary Summarize(const Plan& plan) {
  PlanSummary summary{.outputs = {},
                      .steps = plan.copies.size() + plan.literals.size() + plan.pieces.size(),
                      .needs = plan.needs,
                      .findings = {}};
  for (const PlanCopy& copy : plan.copies) {
    const uint64_t bytes = plan.files[copy.file].bytes;
    summary.outputs.push_back({.path = copy.path, .bytes = bytes});
    if (copy.link) continue;
    summary.bytes_read += bytes;
    summary.bytes_written += bytes;
  }
  for (const PlanOutput& output : plan.outputs) {
    summary.outputs.push_back(output);
    summary.bytes_written += output.bytes;
  }
  for (const PlanSource& source : plan.sources) {
    summary.bytes_read += source.stored.codec == Codec::kZstd      ? source.record_length
                          : source.stored.codec == Codec::kDeflate ? source.stored.encoded_bytes
                                                                   : source.stored.bytes;
  }
  return summary;
}

}  // namespace dcpctl
