#include "dcpctl/verify.h"

#include "cmd/command.h"
#include "cmd/options.h"
#include "report/json.h"
#include "report/verify_text.h"

namespace dcpctl::cmd {
namespace {

const char* const kPayloadHelp =
    "read every byte and compare it with its checksum\n"
    "Without this option metadata and headers are read, and what lies between records.";
const char* const kStrictHelp =
    "let warnings count as failure\n"
    "Then the exit status is 1 as it is for errors. Notes never count.";

class VerifyCommand final : public Command {
 public:
  void Declare(CLI::App& app) override {
    AddArgument(app, "PATH", path_, "DCP directory or torch.save file");
    AddFlag(app, "--payload", payload_, kPayloadHelp)->group("Checks");
    AddFlag(app, "--strict", options_.strict, kStrictHelp)->group("Checks");
    AddSelectionGroup(app, options_.selection);
    AddReadGroup(app, options_.run);
    AddReportGroup(app, report_);
  }

  Result<ExitStatus> Run(Console& console) override {
    if (payload_) options_.level = VerifyLevel::kPayload;
    options_.run.stop = console.stop();
    options_.run.observer = &console.observer();
    auto result = Verify(path_, options_);
    if (!result) return Fail(std::move(result).error());
    console.Say("");  // ends the line of progress
    if (report_.json) {
      report::WriteVerifyJson(*result, console.out());
    } else {
      const report::VerifyTextOptions text{.all = report_.verbose > 0, .only_errors = report_.quiet};
      console.out() << report::RenderVerify(*result, text, console.out_style());
    }
    console.out().flush();
    return result->ok ? kDone : kFound;
  }

  [[nodiscard]] const ReportOptions& report() const override { return report_; }

 private:
  std::string path_;
  bool payload_ = false;
  VerifyOptions options_;
  ReportOptions report_;
};

}  // namespace

constinit const CommandInfo kVerify = {"verify", "PATH", "is a checkpoint whole and undamaged",
                                       []() -> std::unique_ptr<Command> { return std::make_unique<VerifyCommand>(); }};

}  // namespace dcpctl::cmd
