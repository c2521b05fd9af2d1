#include "cmd/console.h"

#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <optional>
#include <utility>

#include "report/message.h"
#include "report/progress.h"
#include "text/display.h"

namespace dcpctl::cmd {
namespace {

bool Wanted(When when, bool automatic) { return when == When::kAlways || (when == When::kAuto && automatic); }

}  // namespace

// Log lines and the progress line share a stream: the line goes away before something else is written.
class Console::Watcher final : public Observer {
 public:
  Watcher(std::ostream& err, const Terminal& terminal, const ReportOptions& options)
      : log_("dcpctl", std::make_shared<spdlog::sinks::ostream_sink_mt>(err)) {
    log_.set_pattern(options.verbose > 1 ? "%n: %H:%M:%S.%e: %v" : "%n: %v");
    log_.set_level(options.verbose > 0 ? spdlog::level::debug : spdlog::level::off);
    if (options.quiet || !Wanted(options.progress, terminal.err)) return;
    const auto write = [&err](std::string_view text) { err << text << std::flush; };
    progress_.emplace(write, report::ProgressOptions{.redraw = terminal.err, .width = terminal.err_width});
  }

  void OnStage(std::string_view name, uint64_t total_bytes) override {
    if (log_.should_log(spdlog::level::debug))
      OnDetail("stage " + std::string(name) + (total_bytes == 0 ? "" : ", " + std::to_string(total_bytes) + " bytes"));
    if (progress_) progress_->OnStage(name, total_bytes);
  }
  void OnBytes(uint64_t bytes) override {
    if (progress_) progress_->OnBytes(bytes);
  }
  void OnDetail(std::string_view text) override {
    if (!log_.should_log(spdlog::level::debug)) return;
    Clear();
    log_.debug("{}", text::Printable(text));
    log_.flush();
  }
  void Clear() {
    if (progress_) progress_->Clear();
  }
  void Finish() {
    if (progress_) progress_->Finish();
  }

 private:
  spdlog::logger log_;
  std::optional<report::ProgressLine> progress_;
};

Console::Console(std::ostream& out, std::ostream& err, Terminal terminal, std::stop_token stop)
    : out_(out), err_(err), terminal_(std::move(terminal)), stop_(std::move(stop)) {
  Configure({});
}

Console::~Console() { watcher_->Finish(); }

void Console::Configure(const ReportOptions& options) {
  options_ = options;
  const auto color = [&](bool is_terminal) { return Wanted(options.color, is_terminal && !terminal_.no_color); };
  out_style_ = {.width = terminal_.out_width, .color = color(terminal_.out)};
  err_style_ = {.width = 0, .color = color(terminal_.err)};
  watcher_ = std::make_unique<Watcher>(err_, terminal_, options);
}

Observer& Console::observer() { return *watcher_; }

void Console::Say(const std::string& line) {
  if (options_.quiet) return;
  watcher_->Finish();
  err_ << line << std::flush;
}

void Console::Report(const Findings& findings, const std::string& root) {
  watcher_->Finish();
  for (const Finding& finding : findings) {
    if (options_.quiet && finding.severity != Severity::kError) continue;
    err_ << report::RenderFinding(finding, root, err_style_);
  }
  err_ << std::flush;
}

void Console::Report(const Error& error) {
  watcher_->Finish();
  err_ << report::RenderError(error, err_style_) << std::flush;
}

}  // namespace dcpctl::cmd
