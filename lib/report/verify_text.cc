#include "report/verify_text.h"

#include <algorithm>
#include <vector>

#include "report/message.h"
#include "text/display.h"
#include "text/numbers.h"

namespace dcpctl::report {
namespace {

using text::FormatBytes;

constexpr size_t kMostOfAnId = 20;

std::string RenderSubject(const VerifyReport& report, const TextStyle& style) {
  const VerifyTotals& totals = report.totals;
  std::string out = Paint(text::Printable(report.path.string()) + ":", Ink::kBold, style);
  out += report.format == Format::kDcp ? " DCP checkpoint" : " torch.save file";
  if (report.ranks > 0) out += ", " + Plural(report.ranks, "rank");
  out += "\n";
  if (totals.tensors > 0 || totals.objects > 0) {
    out += Plural(totals.tensors, "tensor") + " in " + Plural(totals.chunks, "chunk") + ", " +
           Plural(totals.objects, "object") + ", " + FormatBytes(totals.bytes) + "; ";
  }
  return out + Plural(totals.files, "file") + ", " + FormatBytes(totals.file_bytes) + "\n";
}

std::string RenderLooked(const VerifyReport& report) {
  const VerifyTotals& totals = report.totals;
  std::string out = "data: " + FormatBytes(totals.used_bytes) + " used, " + FormatBytes(totals.padding_bytes) +
                    " padding, " + FormatBytes(totals.orphan_bytes) + " that nothing refers to\n";
  if (report.level == VerifyLevel::kStructure) return out + "looked at: headers (--payload reads every byte)\n";
  out +=
      "looked at: headers and " + Plural(totals.checked_storages, "storage") + ", " + FormatBytes(totals.checked_bytes);
  if (totals.unknown_checksums > 0) out += ", " + text::FormatCount(totals.unknown_checksums) + " without a checksum";
  if (report.level == VerifyLevel::kValues) {
    out += "; for NaN and infinities: " + Plural(totals.scanned_elements, "element") + " of " +
           Plural(totals.scanned_tensors, "tensor");
  }
  return out + "\n";
}

// One id. Advice that is the same for all is said once.
std::string RenderGroup(const Findings& findings, size_t first, size_t last, const std::string& root,
                        const VerifyTextOptions& options, const TextStyle& style) {
  const size_t shown = options.all ? last : std::min(last, first + kMostOfAnId);
  const size_t left_out = last - shown;
  std::string out = Paint(findings[first].id, Ink::kBold, style) + "\n";
  for (size_t i = first; i < shown; ++i) {
    Finding finding = findings[i];
    const bool repeated = i + 1 < shown && findings[i + 1].advice == finding.advice;
    if (repeated) finding.advice.clear();
    out += RenderFinding(finding, root, style);
  }
  if (left_out > 0) out += "  and " + text::FormatCount(left_out) + " more (-v lists all)\n";
  return out;
}

std::string RenderFindingsById(const VerifyReport& report, const VerifyTextOptions& options, const TextStyle& style) {
  const Findings& findings = report.findings;
  std::string out;
  for (size_t first = 0; first < findings.size();) {
    size_t last = first;
    while (last < findings.size() && findings[last].id == findings[first].id &&
           findings[last].severity == findings[first].severity)
      ++last;
    const bool wanted = !options.only_errors || findings[first].severity == Severity::kError;
    if (wanted) out += RenderGroup(findings, first, last, report.path.string(), options, style);
    first = last;
  }
  return out;
}

std::string RenderVerdict(const VerifyReport& report, const TextStyle& style) {
  const VerifyTotals& totals = report.totals;
  std::vector<std::string> counts;
  if (totals.errors > 0) counts.push_back(Plural(totals.errors, "error"));
  if (totals.warnings > 0) counts.push_back(Plural(totals.warnings, "warning"));
  if (totals.notes > 0) counts.push_back(Plural(totals.notes, "note"));
  std::string found;
  for (const std::string& count : counts) found += (found.empty() ? "" : ", ") + count;
  const std::string verdict = report.ok ? "OK" : totals.errors > 0 ? "NOT OK" : "NOT OK (--strict)";
  return Paint(verdict + ":", report.ok ? Ink::kBold : Ink::kRed, style) + " " +
         (found.empty() ? "nothing found" : found) + "\n";
}

}  // namespace

std::string RenderVerify(const VerifyReport& report, const VerifyTextOptions& options, const TextStyle& style) {
  const std::string findings = RenderFindingsById(report, options, style);
  if (options.only_errors) return findings;
  return RenderSubject(report, style) + RenderLooked(report) + (findings.empty() ? "" : "\n" + findings + "\n") +
         RenderVerdict(report, style);
}

}  // namespace dcpctl::report
