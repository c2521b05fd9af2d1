#include "plugin/launcher.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace dcpctl::plugin {
namespace {

Launch Read(const std::map<std::string, std::string>& set) {
  return ReadLaunch([&](const char* name) {
    const auto found = set.find(name);
    return found == set.end() ? nullptr : found->second.c_str();
  });
}

TEST(Launcher, KnowsOpenMpi) {
  const Launch launch =
      Read({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}});
  EXPECT_EQ(launch.library, "openmpi");
  EXPECT_EQ(launch.size, 4U);
  EXPECT_EQ(launch.rank, 3U);
  EXPECT_EQ(launch.local_rank, 1U);
}

TEST(Launcher, KnowsMpich) {
  const Launch launch =
      Read({{"PMI_SIZE", "2"}, {"PMI_RANK", "0"}, {"MPI_LOCALNRANKS", "2"}, {"MPI_LOCALRANKID", "0"}});
  EXPECT_EQ(launch.library, "mpich");
  EXPECT_EQ(launch.size, 2U);
  EXPECT_EQ(launch.local_rank, 0U);
}

TEST(Launcher, KnowsSlurmWithPmix) {
  const Launch launch = Read({{"PMIX_RANK", "5"}, {"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_LOCALID", "1"}});
  EXPECT_EQ(launch.library, "openmpi");
  EXPECT_EQ(launch.size, 8U);
  EXPECT_EQ(launch.rank, 5U);
  EXPECT_EQ(launch.local_rank, 1U);
}

TEST(Launcher, IsOverruled) {
  EXPECT_EQ(Read({{"DCPCTL_MPI", "mpich"}, {"OMPI_COMM_WORLD_SIZE", "4"}}).library, "mpich");
  EXPECT_EQ(Read({{"DCPCTL_MPI", ""}, {"OMPI_COMM_WORLD_SIZE", "4"}}).library, "openmpi");
}

TEST(Launcher, SaysNothingWithoutOne) {
  const Launch launch = Read({{"PATH", "/bin"}});
  EXPECT_EQ(launch.library, "");
  EXPECT_FALSE(launch.size);
  EXPECT_FALSE(launch.rank);
  EXPECT_FALSE(launch.local_rank);
}

TEST(Launcher, IgnoresWhatIsNoNumber) { EXPECT_FALSE(Read({{"PMI_SIZE", "2x"}, {"PMI_RANK", ""}}).size); }

}  // namespace
}  // namespace dcpctl::plugin
