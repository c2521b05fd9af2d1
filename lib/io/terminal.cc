#include "io/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

namespace dcpctl::io {

static_assert(kStandardOutput == STDOUT_FILENO && kStandardError == STDERR_FILENO);

bool IsTerminal(int fd) { return ::isatty(fd) == 1; }

size_t TerminalWidth(int fd) {
  winsize size{};
  return IsTerminal(fd) && ::ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace dcpctl::io
