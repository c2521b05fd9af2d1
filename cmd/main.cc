#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <stop_token>

#include "cmd/command.h"
#include "io/errno_text.h"
#include "io/signals.h"
#include "io/terminal.h"
#include "ops/mpi.h"
#include "report/message.h"

namespace dcpctl::cmd {
namespace {

bool IsSet(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

// COLUMNS, else what the terminal says; `otherwise` when neither does.
size_t ColumnsOf(int fd, size_t otherwise) {
  const char* const columns = std::getenv("COLUMNS");
  const unsigned long wanted = columns == nullptr ? 0 : std::strtoul(columns, nullptr, 10);
  if (wanted > 0) return wanted;
  const size_t width = io::TerminalWidth(fd);
  return width > 0 ? width : otherwise;
}

Terminal LookAtTerminal() {
  constexpr size_t kUsualColumns = 80;
  const bool out = io::IsTerminal(io::kStandardOutput);
  return {.out = out,
          .err = io::IsTerminal(io::kStandardError),
          .no_color = IsSet("NO_COLOR"),
          .out_width = ColumnsOf(io::kStandardOutput, out ? kUsualColumns : 0),
          .err_width = [] { return ColumnsOf(io::kStandardError, kUsualColumns); }};
}

// The status of a run whose results did not all arrive: a reader that has seen enough is no news.
int FinishOutput(int status, Console& console) {
  if (std::cout) {
    std::cout.flush();
    if (std::cout) return status;
  }
  std::cout.clear();
  errno = 0;
  std::cout.flush();  // what is left: says again why it cannot be written
  const int code = errno;
  if (code != EPIPE) {
    console.Report(Error(ErrorKind::kIo, {.file = "standard output"},
                         "cannot write: " + (code == 0 ? std::string("incomplete") : io::ErrnoText(code))));
  }
  return kFailed;
}

int Main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  std::stop_source stop;
  const io::SignalWatcher signals([&stop] { stop.request_stop(); });
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  // What is wrong with a command line is wrong with that of all processes.
  const bool speaks =
      std::find(arguments.begin(), arguments.end(), "--mpi") == arguments.end() || ops::SpeaksBeforeMpi();
  std::ostream nothing(nullptr);
  Console console(speaks ? std::cout : nothing, speaks ? std::cerr : nothing, LookAtTerminal(), stop.get_token());
  int status = Dispatch(arguments, console);
  if (status == kInterrupted) status = signals.ExitStatus();
  return FinishOutput(status, console);
}

}  // namespace
}  // namespace dcpctl::cmd

int main(int argc, char** argv) {
  try {
    return dcpctl::cmd::Main(argc, argv);
  } catch (const std::exception& bug) {
    std::cerr << dcpctl::report::RenderError(
        dcpctl::Error(dcpctl::ErrorKind::kInternal, std::string("internal: ") + bug.what()));
  } catch (...) {
    std::cerr << "dcpctl: error: internal: unknown exception\n";
  }
  return dcpctl::cmd::kFailed;
}
