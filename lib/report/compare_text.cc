#include "report/compare_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "text/display.h"
#include "text/numbers.h"

namespace dcpctl::report {
namespace {

constexpr size_t kMostLines = 50;

// The shortest text that reads back as the same number.
std::string NumberText(const std::variant<uint64_t, double>& number) {
  if (const auto* integer = std::get_if<uint64_t>(&number)) return std::to_string(*integer);
  std::array<char, 32> buffer{};
  return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), std::get<double>(number)).ptr};
}

// The empty string is a legal key.
std::string KeyText(const std::string& key, const TextStyle& style) {
  return Paint(key.empty() ? "\"\"" : text::Printable(key), Ink::kBold, style);
}

std::vector<std::string> Lines(const CompareReport& report, const TextStyle& style) {
  std::vector<std::string> lines;
  const auto only_in = [&](const std::filesystem::path& path, const std::vector<std::string>& keys) {
    for (const std::string& key : keys)
      lines.push_back("only in " + text::Printable(path.string()) + ": " + KeyText(key, style));
  };
  only_in(report.a, report.only_in_a);
  only_in(report.b, report.only_in_b);
  for (const Difference& difference : report.differ)
    lines.push_back(KeyText(difference.key, style) + ": " + DescribeDifference(difference));
  return lines;
}

std::string RenderVerdict(const CompareReport& report, const TextStyle& style) {
  const CompareTotals& totals = report.totals;
  if (report.equal) {
    const std::string close =
        totals.close == 0 ? "" : "; " + Plural(totals.close, "tensor") + " not bit for bit, but within the tolerance";
    return Paint("EQUAL:", Ink::kBold, style) + " " + Plural(totals.tensors, "tensor") + " and " +
           Plural(totals.objects, "object") + ", " + text::FormatBytes(totals.bytes) + close + "\n";
  }
  std::string out = Paint("NOT EQUAL:", Ink::kRed, style) + " ";
  if (!report.only_in_a.empty()) out += text::FormatCount(report.only_in_a.size()) + " only in the first, ";
  if (!report.only_in_b.empty()) out += text::FormatCount(report.only_in_b.size()) + " only in the second, ";
  out += text::FormatCount(report.differ.size()) + " of the " + text::FormatCount(totals.tensors + totals.objects) +
         " that both have differ\n";
  return out;
}

}  // namespace

std::string DescribeDifference(const Difference& difference) {
  const std::string both = text::Printable(difference.a) + " and " + text::Printable(difference.b);
  switch (difference.what) {
    case DifferenceKind::kKind: return "is of two kinds, " + both;
    case DifferenceKind::kDType: return "dtype is " + both;
    case DifferenceKind::kShape: return "shape is " + both;
    case DifferenceKind::kObject: return "value is " + both;
    case DifferenceKind::kValues: break;
  }
  std::string out = text::FormatCount(difference.differing) + " of " + Plural(difference.elements, "element") +
                    " differ, the first is " + ToString(DimsView(difference.first_index));
  if (difference.max_abs_diff) out += ", by at most " + NumberText(*difference.max_abs_diff);
  return out;
}

std::string RenderCompare(const CompareReport& report, const CompareTextOptions& options, const TextStyle& style) {
  const std::vector<std::string> lines = Lines(report, style);
  const size_t shown = options.all ? lines.size() : std::min(lines.size(), kMostLines);
  std::string out;
  for (size_t i = 0; i < shown; ++i) out += lines[i] + "\n";
  if (shown < lines.size()) out += "and " + text::FormatCount(lines.size() - shown) + " more (-v lists all)\n";
  return out + RenderVerdict(report, style);
}

}  // namespace dcpctl::report
