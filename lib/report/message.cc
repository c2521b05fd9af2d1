#include "report/message.h"

#include <filesystem>

#include "base/quote.h"
#include "text/display.h"

namespace dcpctl::report {
namespace {

// Findings name files as the checkpoint does, or in full.
std::string FullName(const std::string& file, const std::string& root) {
  if (file.empty()) return root.empty() ? "dcpctl" : root;
  if (file.starts_with(root)) return file;
  return (std::filesystem::path(root) / file).string();
}

Ink InkOf(Severity severity) {
  switch (severity) {
    case Severity::kNote: return Ink::kCyan;
    case Severity::kWarning: return Ink::kYellow;
    case Severity::kError: return Ink::kRed;
  }
  return Ink::kRed;
}

}  // namespace

std::string RenderError(const Error& error, const TextStyle& style) {
  std::string text = error.ToString();
  static constexpr std::string_view kMark = "error:";
  const size_t at = text.find(": error: ");
  if (at != std::string::npos) text.replace(at + 2, kMark.size(), Paint(kMark, Ink::kRed, style));
  return text + "\n";
}

std::string RenderFinding(const Finding& finding, const std::string& root, const TextStyle& style) {
  std::string line = text::Printable(FullName(finding.file, root));
  if (finding.offset) line += ":" + Hex(*finding.offset);
  line += ": " + Paint(std::string(Name(finding.severity)) + ":", InkOf(finding.severity), style) + " ";
  line += text::Printable(finding.message);
  if (!finding.key.empty() && finding.message.find(Quote(finding.key)) == std::string::npos)
    line += " (key " + Quote(finding.key) + ")";
  line += "\n";
  if (!finding.advice.empty()) line += "  " + text::Printable(finding.advice) + "\n";
  return line;
}

std::string RenderFindings(const Findings& findings, const std::string& root, const TextStyle& style) {
  std::string lines;
  for (const Finding& finding : findings) lines += RenderFinding(finding, root, style);
  return lines;
}

}  // namespace dcpctl::report
