#include "plugin/loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "support/temp_directory.h"

namespace dcpctl::plugin {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

PluginName Named(std::string_view file) {
  return {.kind = "fake", .file = file, .purpose = "--fake", .advice = "install the fake"};
}

std::string FailureOf(std::string_view file, ErrorKind kind) {
  auto opened = OpenPlugin(DCPCTL_FAKE_PLUGINS, Named(file));
  if (opened) return "opened";
  EXPECT_EQ(opened.error().kind(), kind);
  return opened.error().ToString();
}

TEST(PluginLoader, OpensAPluginAndItsTable) {
  const auto opened = OpenPlugin(DCPCTL_FAKE_PLUGINS, Named("good"));
  ASSERT_TRUE(opened) << opened.error().ToString();
  EXPECT_STREQ((*opened)->library, "Fake 1.2.3");
  const auto table = OpenTable<int>(DCPCTL_FAKE_PLUGINS, Named("good"));
  ASSERT_TRUE(table);
  EXPECT_EQ(**table, 42);
}

TEST(PluginLoader, SaysWhatToInstallWhenThereIsNone) {
  EXPECT_THAT(FailureOf("absent", ErrorKind::kUnsupported),
              AllOf(HasSubstr("/fakes/absent.so: error: is not there, expected the plug-in that --fake needs"),
                    HasSubstr("install the fake")));
}

TEST(PluginLoader, RefusesAnotherInterfaceVersionAndKind) {
  EXPECT_THAT(FailureOf("other_abi", ErrorKind::kMismatch), HasSubstr("plug-in interface is version 4, expected 3"));
  EXPECT_THAT(FailureOf("other_version", ErrorKind::kMismatch),
              HasSubstr("plug-in was built for dcpctl \"0.0.0\", expected \""));
  EXPECT_THAT(FailureOf("other_kind", ErrorKind::kMismatch), HasSubstr("plug-in is \"other\", expected \"fake\""));
}

TEST(PluginLoader, RefusesWhatIsNoPlugin) {
  EXPECT_THAT(FailureOf("stranger", ErrorKind::kMismatch), HasSubstr("is no plug-in of dcpctl"));
}

TEST(PluginLoader, SaysWhyAFileCannotBeLoaded) {
  const test::TempDirectory folder;
  std::ofstream(folder.path() / "torn.so") << "\x7f"
                                              "ELF";
  const auto opened = OpenPlugin(folder.path(), Named("torn"));
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().ToString(), HasSubstr("torn.so: error: cannot be loaded: "));
}

TEST(PluginFolder, IsAskedForOrNamedByTheEnvironmentOrBesideTheProgram) {
  ::unsetenv("DCPCTL_PLUGIN_DIR");
  EXPECT_EQ(PluginFolder("/asked"), "/asked");
  EXPECT_EQ(PluginFolder(""),
            std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "lib/dcpctl");
  ::setenv("DCPCTL_PLUGIN_DIR", "/told", 1);
  EXPECT_EQ(PluginFolder(""), "/told");
  EXPECT_EQ(PluginFolder("/asked"), "/asked");
  ::unsetenv("DCPCTL_PLUGIN_DIR");
}

}  // namespace
}  // namespace dcpctl::plugin
