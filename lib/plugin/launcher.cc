#include "plugin/launcher.h"

#include <charconv>
#include <cstdlib>
#include <initializer_list>
#include <string_view>

namespace dcpctl::plugin {
namespace {

// The first of the variables that holds a number.
std::optional<uint64_t> NumberOf(const Environment& environment, std::initializer_list<const char*> names) {
  for (const char* const name : names) {
    const char* const text = environment(name);
    if (text == nullptr) continue;
    const std::string_view digits(text);
    uint64_t number = 0;
    const auto [stopped, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (failure == std::errc() && stopped == digits.data() + digits.size()) return number;
  }
  return std::nullopt;
}

// mpirun of Open MPI, and launchers that speak PMIx, as Slurm does; mpiexec of MPICH, and what speaks its PMI.
std::string LibraryOf(const Environment& environment) {
  if (const char* const told = environment("DCPCTL_MPI"); told != nullptr && *told != '\0') return told;
  for (const char* const name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK"}) {
    if (environment(name) != nullptr) return "openmpi";
  }
  for (const char* const name : {"PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"}) {
    if (environment(name) != nullptr) return "mpich";
  }
  return "";
}

}  // namespace

Launch ReadLaunch(const Environment& environment) {
  return {.library = LibraryOf(environment),
          .size = NumberOf(environment, {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}),
          .rank = NumberOf(environment, {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}),
          .local_rank = NumberOf(environment, {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"})};
}

Launch ReadLaunch() {
  return ReadLaunch([](const char* name) { return std::getenv(name); });
}

}  // namespace dcpctl::plugin
