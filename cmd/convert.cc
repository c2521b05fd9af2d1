#include "dcpctl/convert.h"

#include <string>
#include <utility>

#include "base/result.h"
#include "cmd/command.h"
#include "cmd/conversion.h"
#include "cmd/options.h"

namespace dcpctl::cmd {
namespace {

enum class To : uint8_t { kUnset, kDcp, kTorch, kSafetensors };

const char* const kToHelp =
    "what to make\n"
    "dcp is a DCP directory, torch one torch.save file.";
const char* const kDataHelp =
    "what becomes of the data files (default rewrite)\n"
    "With --to dcp, of a DCP directory: rewrite lays them out anew, one file a rank; copy takes them over whole, by "
    "shared blocks where the file system has them; link makes hard links, so that both checkpoints share them.";
const char* const kMetadataOnlyHelp =
    "write nothing but the metadata, to FILE\n"
    "With --to dcp, of a DCP directory, and in place of DST. FILE may lie beside the data files that it describes, so "
    "that DIR/.metadata joins the __R.metadata of a save without collectives.";

class ConvertCommand final : public Command {
 public:
  void Declare(CLI::App& app) override {
    AddArgument(app, "SRC", source_, "DCP directory or torch.save file");
    AddArgument(app, "DST", target_, "what to make; with --to torch, - is standard output")->required(false);
    AddChoice<To>(app, "--to", to_, {{"dcp", To::kDcp}, {"torch", To::kTorch}, {"safetensors", To::kSafetensors}},
                  kToHelp)
        ->group("Content");
    AddDcpOptions(app, options_);
    AddChoice<DataPolicy>(app, "--data", options_.data,
                          {{"rewrite", DataPolicy::kRewrite}, {"copy", DataPolicy::kCopy}, {"link", DataPolicy::kLink}},
                          kDataHelp)
        ->group("Content");
    AddText(app, "--metadata-only", metadata_, "FILE", kMetadataOnlyHelp)->group("Content");
    AddTorchOptions(app, options_);
    AddConversionOptions(app, options_, report_);
  }

  [[nodiscard]] Result<void> Check() const override {
    if (to_ == To::kSafetensors) return WrongUsage("--to safetensors is not in this version yet", "use dcp or torch");
    if (to_ == To::kUnset && metadata_.empty()) return WrongUsage("--to is missing", "say --to dcp or --to torch");
    if (target_.empty() == metadata_.empty()) {
      return target_.empty()
                 ? WrongUsage("DST is missing", "say where to write to")
                 : WrongUsage("DST and --metadata-only both say where to write to", "leave out one of them");
    }
    DCPCTL_TRY(to_ == To::kTorch ? CheckTorchOptions() : CheckDcpOptions());
    return CheckTarget(Target(), report_, options_);
  }

  Result<ExitStatus> Run(Console& console) override {
    const bool to_torch = to_ == To::kTorch;
    if (!metadata_.empty()) options_.data = DataPolicy::kNone;
    return RunConversion(source_, Target(), options_, report_, console,
                         [&](const std::string& source, const std::string& target, const ConvertOptions& options) {
                           return Convert(source, target, to_torch ? OutputFormat::kTorch : OutputFormat::kDcp,
                                          options);
                         });
  }

  [[nodiscard]] const ReportOptions& report() const override { return report_; }

 private:
  [[nodiscard]] const std::string& Target() const { return metadata_.empty() ? target_ : metadata_; }

  [[nodiscard]] Result<void> CheckTorchOptions() const {
    const char* const given = !options_.compat.empty()                ? "--compat"
                              : options_.data != DataPolicy::kRewrite ? "--data"
                              : !metadata_.empty()                    ? "--metadata-only"
                                                                      : nullptr;
    if (given == nullptr) return {};
    return WrongUsage(std::string(given) + " is for DCP directories", "leave it out, or use --to dcp");
  }

  [[nodiscard]] Result<void> CheckDcpOptions() const {
    if (target_ == "-") return WrongUsage("a DCP directory cannot go to standard output", "give a name");
    const char* const given = options_.flat ? "--flat" : options_.int_keys ? "--int-keys" : nullptr;
    if (given != nullptr)
      return WrongUsage(std::string(given) + " is for torch.save files", "leave it out, or use --to torch");
    if (options_.dtype && (!metadata_.empty() || options_.data != DataPolicy::kRewrite)) {
      return WrongUsage(std::string("--dtype writes data files anew, and ") +
                            (metadata_.empty() ? "--data takes them over as they are" : "--metadata-only writes none"),
                        "leave out one of them");
    }
    if (metadata_.empty() || options_.data == DataPolicy::kRewrite) return {};
    return WrongUsage("--data and --metadata-only both say what becomes of the data files", "leave out one of them");
  }

  std::string source_;
  std::string target_;
  std::string metadata_;
  To to_ = To::kUnset;
  ConvertOptions options_;
  ReportOptions report_;
};

}  // namespace

constinit const CommandInfo kConvert = {
    "convert", "SRC DST --to FORMAT", "any readable checkpoint -> dcp or torch",
    []() -> std::unique_ptr<Command> { return std::make_unique<ConvertCommand>(); }};

}  // namespace dcpctl::cmd
