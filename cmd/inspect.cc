#include "dcpctl/inspect.h"

#include <algorithm>

#include "cmd/command.h"
#include "cmd/options.h"
#include "report/inspect_text.h"
#include "report/json.h"

namespace dcpctl::cmd {
namespace {

class InspectCommand final : public Command {
 public:
  void Declare(CLI::App& app) override {
    AddArgument(app, "PATH", path_, "DCP directory or torch.save file");
    AddFlag(app, "--tree", tree_, "containers and what they hold, with totals")->group("View");
    AddFlag(app, "--files", files_,
            "files by the rank that wrote them\nSays what the names mean and which files nothing refers to.")
        ->group("View");
    AddFlag(app, "--chunks", chunks_, "every stored part of every tensor: its box and where it lies")->group("View");
    AddFlag(app, "--keys-only", keys_only_,
            "one key a line, for grep and xargs\n"
            "On a terminal control characters are escaped; elsewhere keys are printed as they are.")
        ->group("View");
    key_option_ =
        AddText(app, "--key", options_.key, "KEY",
                "one entry in full\nAn object's bytes are read and shown as data; nothing in it is run or imported. "
                "KEY may be spelled as a table shows it, control characters escaped.")
            ->group("View");
    AddFlag(app, "--stats", options_.stats,
            "minimum, maximum, mean, standard deviation, NaN and infinities of each tensor\n"
            "Reads every byte of the tensors. Goes with the table, --key and --json; needs the tensor plug-in, see "
            "dcpctl(1).")
        ->group("View");
    AddSelectionGroup(app, options_.selection);
    AddReadGroup(app, options_.run);
    AddReportGroup(app, report_);
  }

  [[nodiscard]] Result<void> Check() const override {
    if (tree_ + files_ + chunks_ + keys_only_ + HasKey() > 1) {
      return Fail(Error(ErrorKind::kUsage, "--tree, --files, --chunks, --keys-only and --key do not go together")
                      .Advise("choose one view"));
    }
    if (options_.stats && tree_ + files_ + chunks_ + keys_only_ > 0) {
      return Fail(Error(ErrorKind::kUsage, "--stats does not go with --tree, --files, --chunks and --keys-only")
                      .Advise("it goes with the table, --key and --json"));
    }
    if (keys_only_ && report_.json) {
      return Fail(Error(ErrorKind::kUsage, "--keys-only and --json do not go together")
                      .Advise("the keys are in the document of --json"));
    }
    return {};
  }

  Result<ExitStatus> Run(Console& console) override {
    options_.has_key = HasKey();
    options_.names = !keys_only_;
    options_.run.stop = console.stop();
    if (options_.stats) options_.run.observer = &console.observer();
    auto result = Inspect(path_, options_);
    if (!result) return Fail(std::move(result).error());
    if (options_.stats) console.Say("");  // ends the line of progress
    if (report_.json) {
      report::WriteInspectJson(*result, console.out());
    } else if (keys_only_) {
      report::WriteKeys(console.out(), *result, console.out_is_terminal());
    } else {
      Write(console.out(), *result, console.out_style());
    }
    console.out().flush();
    const Findings& findings = result->catalog.findings;
    if (!report_.json) console.Report(findings, path_);
    const bool damaged =
        std::any_of(findings.begin(), findings.end(), [](const Finding& f) { return f.severity == Severity::kError; });
    return damaged ? kFound : kDone;
  }

  [[nodiscard]] const ReportOptions& report() const override { return report_; }

 private:
  [[nodiscard]] bool HasKey() const { return key_option_->count() > 0; }

  void Write(std::ostream& out, const InspectReport& result, const report::TextStyle& style) const {
    if (result.without_metadata) return report::WriteRecords(out, result, style);
    if (HasKey()) return report::WriteEntry(out, result, style);
    if (tree_) return report::WriteTree(out, result, style);
    if (files_) return report::WriteFiles(out, result, style);
    return chunks_ ? report::WriteChunks(out, result, style) : report::WriteTable(out, result, style);
  }

  std::string path_;
  InspectOptions options_;
  ReportOptions report_;
  bool tree_ = false;
  bool files_ = false;
  bool chunks_ = false;
  bool keys_only_ = false;
  const CLI::Option* key_option_ = nullptr;  // owned by the App, which outlives Run
};

}  // namespace

constinit const CommandInfo kInspect = {
    "inspect", "PATH", "what is inside a checkpoint, without loading it",
    []() -> std::unique_ptr<Command> { return std::make_unique<InspectCommand>(); }};

}  // namespace dcpctl::cmd
