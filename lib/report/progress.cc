#include "report/progress.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "text/display.h"
#include "text/numbers.h"

namespace dcpctl::report {
namespace {

constexpr std::chrono::milliseconds kRedrawInterval(100);
constexpr std::chrono::milliseconds kLineInterval(1000);
constexpr std::string_view kClearLine = "\r\x1b[K";
// Before this the rate is noise.
constexpr std::chrono::milliseconds kRateAfter(500);

std::string TimeLeft(uint64_t left, uint64_t done, std::chrono::nanoseconds elapsed) {
  const double seconds =
      static_cast<double>(left) / static_cast<double>(done) * std::chrono::duration<double>(elapsed).count();
  // Tenths of a second would only flicker.
  const auto whole = static_cast<int64_t>(seconds + 0.5);
  return (whole < 60 ? std::to_string(whole) + " s" : text::FormatDuration(std::chrono::seconds(whole))) + " left";
}

}  // namespace

ProgressLine::ProgressLine(std::function<void(std::string_view)> write, ProgressOptions options)
    : write_(std::move(write)), options_(std::move(options)), stage_start_(options_.now()), last_drawn_(stage_start_) {}

void ProgressLine::OnStage(std::string_view name, uint64_t total_bytes) {
  if (unwritten_ && !options_.redraw && done_ > 0) Draw(options_.now());
  stage_ = name;
  total_ = total_bytes;
  done_ = 0;
  stage_start_ = options_.now();
  unwritten_ = true;
  DrawIfDue();
}

void ProgressLine::OnBytes(uint64_t bytes) {
  done_ += bytes;
  unwritten_ = true;
  DrawIfDue();
}

void ProgressLine::Clear() {
  if (options_.redraw && shown_) write_(kClearLine);
  shown_ = false;
}

void ProgressLine::Finish() {
  if (!options_.redraw && unwritten_ && done_ > 0) Draw(options_.now());
  Clear();
  unwritten_ = false;
}

void ProgressLine::DrawIfDue() {
  const TimePoint now = options_.now();
  if (now - last_drawn_ >= (options_.redraw ? kRedrawInterval : kLineInterval)) Draw(now);
}

void ProgressLine::Draw(TimePoint now) {
  const std::string line = Line(now);
  write_(options_.redraw ? std::string(kClearLine) + line : line + "\n");
  last_drawn_ = now;
  shown_ = true;
  unwritten_ = false;
}

std::string ProgressLine::Line(TimePoint now) const {
  const auto elapsed = now - stage_start_;
  std::vector<std::string> parts = {text::Printable(stage_)};
  if (total_ > 0) {
    const double share = std::min(1.0, static_cast<double>(done_) / static_cast<double>(total_));
    parts.push_back(std::to_string(static_cast<int>(share * 100)) + "%");
    parts.push_back(text::FormatBytes(done_) + " of " + text::FormatBytes(total_));
  } else if (done_ > 0) {
    parts.push_back(text::FormatBytes(done_));
  }
  if (done_ > 0 && elapsed >= kRateAfter) {
    parts.push_back(text::FormatRate(done_, elapsed));
    if (total_ > done_) parts.push_back(TimeLeft(total_ - done_, done_, elapsed));
  }
  // One column stays free: some terminals wrap when the last one is written.
  const size_t width = options_.width();
  const auto join = [&] {
    std::string line;
    for (const std::string& part : parts) line += (line.empty() ? "" : "  ") + part;
    return line;
  };
  if (width == 0 || !options_.redraw) return join();
  while (parts.size() > 1 && text::DisplayWidth(join()) >= width) parts.pop_back();
  return text::Ellipsize(join(), width - 1);
}

}  // namespace dcpctl::report
