#include "dcpctl/compare.h"

#include "cmd/command.h"
#include "cmd/options.h"
#include "report/compare_text.h"
#include "report/json.h"

namespace dcpctl::cmd {
namespace {

const char* const kGlobalHelp =
    "compare objects that name MODULE.NAME\n"
    "Names such as os.system are refused by default, though nothing is run here. May be given again.";

const char* const kRtolHelp =
    "let floating-point numbers differ by R times the second\n"
    "The same are then a and b with |a - b| <= A + R |b|, as in torch.allclose, computed in float64; for complex "
    "numbers "
    "these are moduli. NaN and infinities, integers, bool and objects are compared as without. An option that is left "
    "out is 0.";
const char* const kAtolHelp = "let floating-point numbers differ by A\nSee --rtol.";

class CompareCommand final : public Command {
 public:
  void Declare(CLI::App& app) override {
    AddArgument(app, "A", a_, "DCP directory or torch.save file");
    AddArgument(app, "B", b_, "DCP directory or torch.save file");
    AddList(app, "--allow-global", options_.allow_globals, "MODULE.NAME", kGlobalHelp)->group("Content");
    AddTolerance(app, "--rtol", rtol_, "R", kRtolHelp)->group("Tolerance");
    AddTolerance(app, "--atol", atol_, "A", kAtolHelp)->group("Tolerance");
    AddSelectionGroup(app, options_.selection);
    AddPrefixOptions(app, options_.selection);
    AddReadGroup(app, options_.run);
    AddReportGroup(app, report_);
  }

  Result<ExitStatus> Run(Console& console) override {
    options_.run.stop = console.stop();
    options_.run.observer = &console.observer();
    if (rtol_ || atol_) options_.tolerance = {.relative = rtol_.value_or(0), .absolute = atol_.value_or(0)};
    auto result = Compare(a_, b_, options_);
    if (!result) return Fail(std::move(result).error());
    console.Say("");  // ends the line of progress
    if (report_.json) {
      report::WriteCompareJson(*result, console.out());
    } else if (!report_.quiet) {
      console.out() << report::RenderCompare(*result, {.all = report_.verbose > 0}, console.out_style());
    }
    console.out().flush();
    return result->equal ? kDone : kFound;
  }

  [[nodiscard]] const ReportOptions& report() const override { return report_; }

 private:
  std::string a_;
  std::string b_;
  std::optional<double> rtol_;
  std::optional<double> atol_;
  CompareOptions options_;
  ReportOptions report_;
};

}  // namespace

constinit const CommandInfo kCompare = {
    "compare", "A B", "do two checkpoints hold the same, in any format",
    []() -> std::unique_ptr<Command> { return std::make_unique<CompareCommand>(); }};

}  // namespace dcpctl::cmd
