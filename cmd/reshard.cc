#include <iostream>
#include <ostream>
#include <string>

#include "base/result.h"
#include "cmd/command.h"
#include "cmd/conversion.h"
#include "cmd/layout_options.h"
#include "cmd/options.h"
#include "cmd/status.h"
#include "dcpctl/convert.h"
#include "io/file_system.h"
#include "ops/mpi.h"
#include "ops/reshard_together.h"

namespace dcpctl::cmd {
namespace {

const char* const kMpiHelp =
    "share the work with the other processes of mpirun or srun\n"
    "Each makes some of the data files; the result is the same for any number of processes.";
const char* const kExchangeHelp =
    "read files where they are, on disks of single nodes, too\n"
    "With --mpi. Bytes that a process does not see travel by MPI from one that does.";

class ReshardCommand final : public Command {
 public:
  void Declare(CLI::App& app) override {
    AddArgument(app, "SRC_DIR", source_, "DCP directory");
    AddArgument(app, "DST_DIR", target_, "DCP directory to make");
    AddLayoutOptions(app, layout_);
    AddFlag(app, "--mpi", options_.run.mpi, kMpiHelp)->group("Processes");
    AddFlag(app, "--exchange", options_.run.exchange, kExchangeHelp)->group("Processes");
    AddDcpOptions(app, options_);
    AddConversionOptions(app, options_, report_);
  }

  [[nodiscard]] Result<void> Check() const override {
    DCPCTL_TRY(CheckLayout(layout_));
    if (options_.run.exchange && !options_.run.mpi)
      return Fail(Error(ErrorKind::kUsage, "--exchange is for several processes").Advise("add --mpi"));
    if (options_.run.mpi && options_.skip_damaged) {
      return Fail(Error(ErrorKind::kUsage, "--skip-damaged and --mpi do not go together")
                      .Advise("leave out --mpi, or leave out with --exclude what dcpctl verify --payload finds"));
    }
    if (HasLayout(layout_)) return {};
    return Fail(Error(ErrorKind::kUsage, "no layout is given")
                    .Advise("say --world-size N, --mesh NAME=SIZE,..., --layout FILE or --like DIR"));
  }

  Result<ExitStatus> Run(Console& console) override {
    options_.layout = LayoutOf(layout_);
    return options_.run.mpi ? RunTogether(console)
                            : RunConversion(source_, target_, options_, report_, console, Reshard);
  }

  [[nodiscard]] const ReportOptions& report() const override { return report_; }

 private:
  // All processes come to the same end, and one tells of it.
  Result<ExitStatus> RunTogether(Console& console) {
    options_.run.stop = console.stop();
    auto crew = ops::JoinMpi(options_.run);
    if (!crew) return Fail(std::move(crew).error());
    std::ostream nothing(nullptr);
    Console silent(nothing, nothing, {}, console.stop());
    Console& shown = (*crew)->leads() ? console : silent;
    // For when the first process is not there to tell.
    Console last_word(std::cout, std::cerr, {}, console.stop());
    const auto reshard = [&](const std::string& source, const std::string& target, const ConvertOptions& options) {
      return ops::ReshardTogether(**crew, *io::NewPosixFileSystem(), source, target, options);
    };
    auto status = RunConversion(source_, target_, options_, report_, shown, reshard);
    // Told before it leaves: processes that do not answer are ended then, and this one with them.
    if (!status) {
      const bool alone = !(*crew)->has_verdict() && status.error().kind() != ErrorKind::kCancelled;
      (alone ? last_word : shown).Report(status.error());
      status = StatusOf(status.error());
    }
    (*crew)->Leave(ops::kEndedByForce);
    return status;
  }

  std::string source_;
  std::string target_;
  LayoutArguments layout_;
  ConvertOptions options_;
  ReportOptions report_;
};

}  // namespace

constinit const CommandInfo kReshard = {
    "reshard", "SRC_DIR DST_DIR", "DCP -> DCP for another world size or mesh",
    []() -> std::unique_ptr<Command> { return std::make_unique<ReshardCommand>(); }};

}  // namespace dcpctl::cmd
