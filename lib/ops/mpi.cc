#include "ops/mpi.h"

#include <string>
#include <system_error>
#include <utility>

#include "base/result.h"
#include "plugin/launcher.h"
#include "plugin/loader.h"
#include "ranks/plugin_transport.h"

namespace dcpctl::ops {
namespace {

std::string FileOf(const std::string& library) { return "dcpctl_" + library; }

// Without a launcher, a process alone: any library will do.
std::string ChooseLibrary(const std::filesystem::path& folder, const plugin::Launch& launch) {
  if (!launch.library.empty()) return launch.library;
  std::error_code ignored;
  return std::filesystem::exists(folder / (FileOf("mpich") + ".so"), ignored) &&
                 !std::filesystem::exists(folder / (FileOf("openmpi") + ".so"), ignored)
             ? "mpich"
             : "openmpi";
}

// Processes that do not know of each other would each do all of the work, in the same place.
Result<void> CheckSize(const ranks::Crew& crew, const plugin::Launch& launch, const std::string& library) {
  if (!launch.size || *launch.size == crew.size()) return {};
  return Fail(Error(ErrorKind::kMismatch, "the launcher started " + std::to_string(*launch.size) +
                                              " processes, and MPI (" + library + ") knows of " +
                                              std::to_string(crew.size()))
                  .Advise("start them with mpirun of the same library, or say which it is: DCPCTL_MPI=openmpi or "
                          "DCPCTL_MPI=mpich in the environment; srun needs --mpi=pmix"));
}

}  // namespace

Result<std::unique_ptr<ranks::Crew>> JoinMpi(const RunOptions& options) {
  const plugin::Launch launch = plugin::ReadLaunch();
  const std::filesystem::path folder = plugin::PluginFolder(options.plugins);
  const std::string library = ChooseLibrary(folder, launch);
  const std::string file = FileOf(library);
  DCPCTL_ASSIGN(
      const plugin::CommV1* const table,
      plugin::OpenTable<plugin::CommV1>(
          folder, {.kind = plugin::kCommKind,
                   .file = file,
                   .purpose = "--mpi",
                   .advice = "install libopenmpi-dev or libmpich-dev, whichever mpirun belongs to, and build again"}));
  DCPCTL_ASSIGN(auto crew, ranks::Crew::Join(std::make_unique<ranks::PluginTransport>(*table), options.stop));
  if (auto right = CheckSize(*crew, launch, library); !right) {
    (void)crew->Conclude(right).has_value();
    crew->Leave(kEndedByForce);
    return Fail(std::move(right).error());
  }
  return crew;
}

bool SpeaksBeforeMpi() {
  const plugin::Launch launch = plugin::ReadLaunch();
  return launch.local_rank.value_or(launch.rank.value_or(0)) == 0;
}

}  // namespace dcpctl::ops
