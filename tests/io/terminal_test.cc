#include "io/terminal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace dcpctl::io {
namespace {

TEST(Terminal, FilesAndClosedDescriptorsAreNone) {
  const int fd = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  EXPECT_FALSE(IsTerminal(fd));
  EXPECT_EQ(TerminalWidth(fd), 0u);
  ::close(fd);
  EXPECT_FALSE(IsTerminal(-1));
}

TEST(Terminal, TellsItsWidth) {
  const int leader = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (leader < 0) GTEST_SKIP() << "no pseudo-terminals here";
  winsize size{};
  size.ws_col = 97;
  ASSERT_EQ(::ioctl(leader, TIOCSWINSZ, &size), 0);
  EXPECT_TRUE(IsTerminal(leader));
  EXPECT_EQ(TerminalWidth(leader), 97u);
  ::close(leader);
}

}  // namespace
}  // namespace dcpctl::io
