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
const char* const kValuesHelp =
    "also look for NaN and infinities\n"
    "In tensors of floating-point numbers, after what --payload does. Needs the tensor plug-in; see dcpctl(1).";
const char* const kStrictHelp =
    "let warnings count as failure\n"
    "Then the exit status is 1 as it is for errors. Notes never count.";

const char* const kAgainstHelp =
    "report what differs from the checkpoint OTHER\n"
    "Formats and layouts may be different: see dcpctl-compare(1).";
const char* const kCheckManifestHelp =
    "report what differs from the manifest FILE\n"
    "Of any format or layout: what counts is what the checkpoint holds. If all files are still those of the manifest, "
    "no tensor is looked at.";
const char* const kManifestHelp =
    "write digests of all that it holds to FILE\n"
    "They depend neither on format nor on layout. With errors no manifest is written.";

class VerifyCommand final : public Command {
 public:
  void Declare(CLI::App& app) override {
    AddArgument(app, "PATH", path_, "DCP directory or torch.save file");
    AddFlag(app, "--payload", payload_, kPayloadHelp)->group("Checks");
    AddFlag(app, "--values", values_, kValuesHelp)->group("Checks");
    AddFlag(app, "--strict", options_.strict, kStrictHelp)->group("Checks");
    AddText(app, "--against", against_, "OTHER", kAgainstHelp)->group("Checks");
    AddText(app, "--check-manifest", check_manifest_, "FILE", kCheckManifestHelp)->group("Checks");
    AddText(app, "--manifest", manifest_, "FILE", kManifestHelp)->group("Output");
    AddFlag(app, "--force", options_.run.force, "replace an existing manifest")->group("Output");
    AddSelectionGroup(app, options_.selection);
    AddReadGroup(app, options_.run);
    AddReportGroup(app, report_);
  }

  Result<ExitStatus> Run(Console& console) override {
    if (payload_) options_.level = VerifyLevel::kPayload;
    if (values_) options_.level = VerifyLevel::kValues;
    options_.against = against_;
    options_.check_manifest = check_manifest_;
    options_.manifest = manifest_;
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
  bool values_ = false;
  std::string against_;
  std::string check_manifest_;
  std::string manifest_;
  VerifyOptions options_;
  ReportOptions report_;
};

}  // namespace

constinit const CommandInfo kVerify = {"verify", "PATH", "is a checkpoint whole and undamaged",
                                       []() -> std::unique_ptr<Command> { return std::make_unique<VerifyCommand>(); }};

}  // namespace dcpctl::cmd
