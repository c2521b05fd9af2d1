#include "dcpctl/repair.h"

#include "cmd/command.h"
#include "cmd/options.h"
#include "report/json.h"
#include "report/repair_text.h"

namespace dcpctl::cmd {
namespace {

const char* const kLikeHelp =
    "DCP checkpoint with the same entries, cut and written in the same way\n"
    "Such as an earlier step of the same run. Only its metadata is read.";
const char* const kOutputHelp =
    "file to write (default .metadata in DIR)\n"
    "Never written over a file that is there.";
const char* const kDryRunHelp =
    "do everything up to the first write\n"
    "Every record is looked at as in a real run.";

class RepairCommand final : public Command {
 public:
  void Declare(CLI::App& app) override {
    AddArgument(app, "DIR", path_, "directory of DCP data files");
    AddText(app, "--like", like_, "OTHER", kLikeHelp)->group("Content");
    AddText(app, "-o,--output", output_, "FILE", kOutputHelp)->group("Output");
    AddFlag(app, "--dry-run", options_.run.dry_run, kDryRunHelp)->group("Output");
    AddReadGroup(app, options_.run);
    AddReportGroup(app, report_);
  }

  [[nodiscard]] Result<void> Check() const override {
    if (!like_.empty()) return {};
    return Fail(Error(ErrorKind::kUsage, "--like is missing")
                    .Advise("give a checkpoint of the same run, such as the step before"));
  }

  Result<ExitStatus> Run(Console& console) override {
    options_.output = output_;
    options_.run.stop = console.stop();
    options_.run.observer = &console.observer();
    auto result = Repair(path_, like_, options_);
    if (!result) return Fail(std::move(result).error());
    if (report_.json) {
      report::WriteRepairJson(*result, path_, like_, console.out());
    } else {
      console.Report(result->findings, path_);
      if (result->fits && !report_.quiet) console.out() << report::RenderRepaired(*result, path_, like_);
    }
    console.out().flush();
    if (result->fits) return kDone;
    return Fail(Error(ErrorKind::kMismatch, {.file = path_},
                      "does not fit " + like_ + " in " + std::to_string(result->findings.size()) +
                          (result->findings.size() == 1 ? " place" : " places") + "; nothing was written")
                    .Advise("choose a checkpoint of the same program, number of ranks and entries"));
  }

  [[nodiscard]] const ReportOptions& report() const override { return report_; }

 private:
  std::string path_;
  std::string like_;
  std::string output_;
  RepairOptions options_;
  ReportOptions report_;
};

}  // namespace

constinit const CommandInfo kRepair = {"repair", "DIR --like OTHER", "rebuild a lost .metadata, into a new file",
                                       []() -> std::unique_ptr<Command> { return std::make_unique<RepairCommand>(); }};

}  // namespace dcpctl::cmd
