// A progress line: stage, bytes done, percent, rate and time left. On a terminal one line that is drawn again
// and cleared at the end, elsewhere a line now and then. Prints nothing for runs too short to watch.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "dcpctl/observer.h"

namespace dcpctl::report {

struct ProgressOptions {
  bool redraw = true;  // a terminal: draw over the line with \r; else whole lines
  // Columns of the terminal, asked at each drawing since it may change; 0 for no limit.
  std::function<size_t()> width = [] { return size_t{80}; };
  std::function<std::chrono::steady_clock::time_point()> now = [] { return std::chrono::steady_clock::now(); };
};

class ProgressLine final : public Observer {
 public:
  // `write` gets text to show at once.
  explicit ProgressLine(std::function<void(std::string_view)> write, ProgressOptions options = {});

  void OnStage(std::string_view name, uint64_t total_bytes) override;
  void OnBytes(uint64_t bytes) override;

  // Takes the line off the screen, so that something else can be written; it comes back with the next drawing.
  void Clear();
  // Ends: clears, or writes the last line.
  void Finish();

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  void DrawIfDue();
  void Draw(TimePoint now);
  [[nodiscard]] std::string Line(TimePoint now) const;

  std::function<void(std::string_view)> write_;
  ProgressOptions options_;
  std::string stage_;
  uint64_t total_ = 0;
  uint64_t done_ = 0;
  TimePoint stage_start_;
  TimePoint last_drawn_;
  bool shown_ = false;      // a line is on the screen
  bool unwritten_ = false;  // something happened since the last line
};

}  // namespace dcpctl::report
