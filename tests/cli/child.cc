#include "cli/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

namespace dcpctl::golden {
namespace {

using Clock = std::chrono::steady_clock;

struct Pipe {
  Pipe() {
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe2");
  }
  ~Pipe() {
    CloseWriter();
    if (ends[0] >= 0) close(ends[0]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  void CloseWriter() {
    if (ends[1] >= 0) close(ends[1]);
    ends[1] = -1;
  }

  std::array<int, 2> ends = {-1, -1};
};

// Between fork and exec: only calls that are safe there.
[[noreturn]] void Become(const char* folder, char* const* arguments, char* const* environment, int out, int err) {
  setpgid(0, 0);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing < 0 || dup2(nothing, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0 || chdir(folder) != 0) _exit(127);
  execve("/bin/sh", arguments, environment);
  _exit(127);
}

// Appends what can be read; false at the end of the stream.
bool Drain(int fd, std::string& text) {
  std::array<char, 65536> buffer;
  const ssize_t count = read(fd, buffer.data(), buffer.size());
  if (count > 0) text.append(buffer.data(), static_cast<size_t>(count));
  return count > 0 || (count < 0 && errno == EINTR);
}

// Reads both streams to their ends; false when the deadline came first.
bool Collect(Pipe& out, Pipe& err, Clock::time_point deadline, ChildResult& result) {
  std::array<pollfd, 2> polled = {pollfd{out.ends[0], POLLIN, 0}, pollfd{err.ends[0], POLLIN, 0}};
  while (polled[0].fd >= 0 || polled[1].fd >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    if (poll(polled.data(), polled.size(), static_cast<int>(left)) <= 0) continue;
    if (polled[0].revents != 0 && !Drain(polled[0].fd, result.out)) polled[0].fd = -1;
    if (polled[1].revents != 0 && !Drain(polled[1].fd, result.err)) polled[1].fd = -1;
  }
  return true;
}

std::vector<char*> Pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

ChildResult RunShell(const std::string& command, const std::filesystem::path& folder,
                     const std::vector<std::string>& environment, std::chrono::milliseconds time_limit) {
  std::vector<std::string> words = {"sh", "-ec", command};
  std::vector<std::string> variables = environment;
  const std::vector<char*> arguments = Pointers(words);
  const std::vector<char*> environ_pointers = Pointers(variables);
  Pipe out;
  Pipe err;
  const pid_t child = fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) Become(folder.c_str(), arguments.data(), environ_pointers.data(), out.ends[1], err.ends[1]);
  setpgid(child, child);
  out.CloseWriter();
  err.CloseWriter();

  ChildResult result;
  result.timed_out = !Collect(out, err, Clock::now() + time_limit, result);
  if (result.timed_out) kill(-child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  result.exit_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return result;
}

}  // namespace dcpctl::golden
