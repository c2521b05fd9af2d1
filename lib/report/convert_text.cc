#include "report/convert_text.h"

#include <algorithm>
#include <chrono>
#include <iomanip>
#include <numeric>
#include <sstream>
#include <vector>

#include "text/display.h"
#include "text/numbers.h"
#include "text/table.h"

namespace dcpctl::report {
namespace {

std::string NameOf(const std::string& path) { return path == "-" ? "standard output" : text::Printable(path); }

std::string NeedsText(const PlanNeeds& needs) {
  std::string text;
  if (needs.tensor_math) text += ", tensor maths";
  if (needs.mpi) text += ", MPI";
  if (needs.cuda) text += ", CUDA";
  return text.empty() ? "" : "needs " + text.substr(2) + "\n";
}

}  // namespace

std::string RenderPlan(const PlanSummary& plan, const TextStyle& style) {
  text::Table table({{"OUTPUT", text::Align::kLeft, true}, {"BYTES", text::Align::kRight}});
  for (const PlanOutput& output : plan.outputs) table.AddRow({NameOf(output.path), text::FormatCount(output.bytes)});
  std::string out = table.Render({.width = style.width, .header = true, .indent = 0, .style = {}}) + "\n";
  out += "reads " + text::FormatBytes(plan.bytes_read) + ", writes " + text::FormatBytes(plan.bytes_written);
  if (plan.bytes_cloned > 0) out += ", clones " + text::FormatBytes(plan.bytes_cloned);
  return out + " in " + Plural(plan.steps, "step") + "\n" + NeedsText(plan.needs) + "Nothing was written (dry run).\n";
}

std::string RenderConverted(const ConvertReport& report, const std::string& target) {
  using Seconds = std::chrono::duration<double>;
  const auto duration = std::chrono::duration_cast<std::chrono::nanoseconds>(Seconds(report.seconds));
  std::string out =
      NameOf(target) + ": " + Plural(report.tensors, "tensor") + " and " + Plural(report.objects, "object") + ", ";
  out += text::FormatBytes(report.plan.bytes_written) + ", written in " + text::FormatDuration(duration) + " (" +
         text::FormatRate(report.plan.bytes_written, duration) + ")";
  if (report.left_out > 0) out += "; " + Plural(report.left_out, "damaged entry") + " left out";
  return out + "\n";
}

std::string RenderCast(const ConvertReport& report) {
  if (!report.cast) return {};
  const CastTotals& cast = *report.cast;
  std::string out = Plural(cast.cast, "tensor") + " cast to " + std::string(Name(cast.to));
  if (cast.same > 0)
    out += "; " + text::FormatCount(cast.same) + (cast.same == 1 ? " has it" : " have it") + " already";
  if (cast.other > 0) {
    out += "; " + text::FormatCount(cast.other) +
           (cast.other == 1 ? " is not of floating-point numbers" : " are not of floating-point numbers");
  }
  return out + "\n";
}

std::string RenderRanks(const ConvertReport& report, const TextStyle& style) {
  constexpr size_t kScreenful = 16;
  if (report.ranks.empty()) return {};
  std::vector<size_t> shown(report.ranks.size());
  std::iota(shown.begin(), shown.end(), size_t{0});
  if (shown.size() > kScreenful) {
    const auto has_less = [](const RankTotals& a, const RankTotals& b) { return a.bytes < b.bytes; };
    const auto least = std::min_element(report.ranks.begin(), report.ranks.end(), has_less);
    const auto most = std::max_element(report.ranks.begin(), report.ranks.end(), has_less);
    shown = {static_cast<size_t>(least - report.ranks.begin()), static_cast<size_t>(most - report.ranks.begin())};
  }
  text::Table table({{"RANK", text::Align::kRight}, {"BYTES", text::Align::kRight}, {"PIECES", text::Align::kRight}});
  for (const size_t rank : shown) {
    table.AddRow({std::to_string(rank), text::FormatBytes(report.ranks[rank].bytes),
                  text::FormatCount(report.ranks[rank].pieces)});
  }
  std::ostringstream imbalance;
  imbalance << std::fixed << std::setprecision(2) << Imbalance(report.ranks);
  return table.Render({.width = style.width, .header = true, .indent = 0, .style = {}}) +
         Plural(report.ranks.size(), "rank") + "; the fullest has " + imbalance.str() + " times the mean" +
         (shown.size() < report.ranks.size() ? "; above are the emptiest and the fullest\n" : "\n");
}

}  // namespace dcpctl::report
