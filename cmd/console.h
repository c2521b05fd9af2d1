// The outside of a command: its two streams, what is known of the terminal, progress and log, and whether it
// is to stop. Results go to out(); all else goes to the error stream.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <stop_token>
#include <string>

#include "cmd/groups.h"
#include "dcpctl/error.h"
#include "dcpctl/finding.h"
#include "dcpctl/observer.h"
#include "report/style.h"

namespace dcpctl::cmd {

struct Terminal {
  bool out = false;       // standard output is one
  bool err = false;       // standard error is one
  bool no_color = false;  // NO_COLOR is set
  size_t out_width = 0;   // columns of results; 0 for no limit
  std::function<size_t()> err_width = [] { return size_t{80}; };
};

class Console {
 public:
  // The streams must outlive the console.
  Console(std::ostream& out, std::ostream& err, Terminal terminal, std::stop_token stop = {});
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  // What the command line asks for; before it, as if it asked for nothing.
  void Configure(const ReportOptions& options);

  [[nodiscard]] std::ostream& out() { return out_; }
  [[nodiscard]] bool out_is_terminal() const { return terminal_.out; }
  [[nodiscard]] const report::TextStyle& out_style() const { return out_style_; }
  [[nodiscard]] const std::stop_token& stop() const { return stop_; }
  // Shows progress and logs details, as far as they are wanted.
  [[nodiscard]] Observer& observer();

  // A line that is no result and no error; not with --quiet.
  void Say(const std::string& line);
  void Report(const Findings& findings, const std::string& root);
  void Report(const Error& error);

 private:
  class Watcher;

  std::ostream& out_;
  std::ostream& err_;
  Terminal terminal_;
  std::stop_token stop_;
  ReportOptions options_;
  report::TextStyle out_style_;
  report::TextStyle err_style_;
  std::unique_ptr<Watcher> watcher_;
};

}  // namespace dcpctl::cmd
