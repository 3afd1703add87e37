#include "paceline/loggers/console.h"

#include "paceline/base/log.h"
#include "paceline/loggers/async_sink.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <optional>

#include <fmt/format.h>
#include <unistd.h>

namespace paceline::loggers {
namespace {

constexpr std::string_view kEraseLine = "\r\x1b[K";
constexpr std::string_view kBold = "\x1b[1m";
constexpr std::string_view kPlain = "\x1b[0m";

/// Four significant digits, without an exponent where that stays short.
std::string number_text(double value) {
  const double size = std::fabs(value);
  if (size >= 1e4 && size < 1e7) return fmt::format("{:.0f}", value);
  return fmt::format("{:.4g}", value);
}

/// Eighths of a block, so that a short bar still moves smoothly.
std::string bar_text(double share, int columns) {
  static constexpr std::string_view kEighths[] = {" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = static_cast<int>(std::clamp(share, 0.0, 1.0) * columns * 8);
  std::string bar;
  for (int i = 0; i < columns; ++i) {
    const int rest = eighths - i * 8;
    bar += rest >= 8 ? "█" : kEighths[std::max(rest, 0)];
  }
  return bar;
}

void print_to(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    // A closed terminal or pipe must not end the training: there is nobody to tell, and files go
    // on.
    if (count < 0) return;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

/// Log lines step above the bar while it lives.
class StandardErrorConsole final : public RecordWriter {
 public:
  StandardErrorConsole(const ConsoleConfig& config, std::int64_t total_steps,
                       ConsoleWriter::Screen screen)
      : writer_(config, total_steps, screen) {
    if (!screen.style.has_bar) return;
    redirection_.emplace(
        [this](base::LogLevel, std::string_view line) { writer_.print_above_bar(line); });
  }
  std::string_view name() const override { return writer_.name(); }
  void write(const Record& record) override { writer_.write(record); }
  void drained() override { writer_.drained(); }
  void sync() override { writer_.sync(); }
  void resume_at(std::int64_t step) override { writer_.resume_at(step); }

 private:
  ConsoleWriter writer_;
  std::optional<base::LogRedirection> redirection_;  ///< ends before the writer
};

}  // namespace

std::unique_ptr<metrics::MetricSink> make(const ConsoleConfig& config, const SinkContext& context) {
  const Environment environment = [](const char* name) -> const char* { return std::getenv(name); };
  const bool is_terminal = isatty(STDERR_FILENO) == 1;
  ConsoleWriter::Screen screen{
      terminal_style(is_terminal, environment, config.progress, config.color),
      [environment] { return terminal_width(STDERR_FILENO, environment); },
      [](std::string_view text) { print_to(STDERR_FILENO, text); }};
  return std::make_unique<AsyncSink>(
      std::make_unique<StandardErrorConsole>(config, context.total_steps, std::move(screen)));
}

ConsoleWriter::ConsoleWriter(ConsoleConfig config, std::int64_t total_steps, Screen screen)
    : config_(std::move(config)), total_steps_(total_steps), screen_(std::move(screen)) {}

ConsoleWriter::~ConsoleWriter() {
  if (has_bar_) screen_.print("\n");
}

void ConsoleWriter::print_above_bar(std::string_view line) {
  const std::lock_guard lock(mutex_);
  print_line(line);
}

void ConsoleWriter::write(const Record& record) {
  const std::lock_guard lock(mutex_);
  switch (record.kind) {
    case RecordKind::kStep:
      return write_step(record);
    case RecordKind::kEvent: {
      pace_.interrupt();
      const std::string_view begin = screen_.style.has_color ? kBold : "";
      const std::string_view end = screen_.style.has_color ? kPlain : "";
      return print_line(fmt::format("{}{}{} epoch {} step {}{}", begin, record.tag, end,
                                    record.at.epoch, record.at.step, values_text(record)));
    }
    case RecordKind::kText:
      return print_line(record.text);
    case RecordKind::kHparams:
      return;  // the banner shows what matters of them
  }
}

void ConsoleWriter::write_step(const Record& record) {
  pace_.add_step(record.at.step, record.at.wall_time);
  if (first_time_s_ == 0) first_time_s_ = record.at.wall_time;
  last_ = record.at;
  if (screen_.style.has_bar) {
    last_values_ = values_text(record);
    has_news_ = true;
  } else if (config_.progress != ProgressStyle::kOff && is_due(record.at)) {
    print_line(plain_line(record));
    last_line_s_ = record.at.wall_time;
    last_line_step_ = record.at.step;
  }
}

bool ConsoleWriter::is_due(const metrics::MetricStep& at) const {
  if (last_line_s_ == 0 || at.step == total_steps_) return true;
  if (config_.interval_steps > 0) return at.step - last_line_step_ >= config_.interval_steps;
  return at.wall_time - last_line_s_ >= config_.interval_s;
}

void ConsoleWriter::drained() {
  const std::lock_guard lock(mutex_);
  if (!has_news_) return;
  const int columns = screen_.width() - 1;  // the last column would wrap the line
  screen_.print(fmt::format("{}{}", kEraseLine, clip(bar_line(columns), columns)));
  has_bar_ = true;
  has_news_ = false;
}

std::string ConsoleWriter::bar_line(int columns) const {
  const std::string elapsed = clock_text(last_.wall_time - first_time_s_);
  const std::string rate = fmt::format("{} step/s", number_text(pace_.steps_per_s()));
  if (total_steps_ == 0) {
    return fmt::format("epoch {} step {} [{}, {}]{}", last_.epoch, last_.step, elapsed, rate,
                       last_values_);
  }
  const double share = static_cast<double>(last_.step) / static_cast<double>(total_steps_);
  return fmt::format("epoch {} {:3.0f}%|{}| {}/{} [{}<{}, {}]{}", last_.epoch,
                     std::floor(100 * share), bar_text(share, std::clamp(columns / 8, 4, 20)),
                     last_.step, total_steps_, elapsed,
                     clock_text(pace_.seconds_for(total_steps_ - last_.step)), rate, last_values_);
}

std::string ConsoleWriter::plain_line(const Record& record) const {
  std::string line = fmt::format("epoch {} step {}", record.at.epoch, record.at.step);
  if (total_steps_ > 0) line += fmt::format("/{}", total_steps_);
  line += fmt::format(" [{}", clock_text(record.at.wall_time - first_time_s_));
  if (total_steps_ > 0 && pace_.steps_per_s() > 0) {
    line += fmt::format("<{}", clock_text(pace_.seconds_for(total_steps_ - record.at.step)));
  }
  return line + "]" + values_text(record);
}

std::string ConsoleWriter::values_text(const Record& record) const {
  std::string text;
  for (std::size_t i = 0; i < record.num_values(); ++i) {
    const std::string_view name = record.name(i);
    const bool is_hidden =
        std::any_of(config_.hidden.begin(), config_.hidden.end(),
                    [&](const std::string& prefix) { return name.starts_with(prefix); });
    if (!is_hidden) text += fmt::format(" {} {}", name, number_text(record.value(i)));
  }
  return text;
}

void ConsoleWriter::print_line(std::string_view line) {
  const std::string_view erase = has_bar_ ? kEraseLine : "";
  screen_.print(fmt::format("{}{}\n", erase, line));
  has_news_ = has_news_ || has_bar_;
  has_bar_ = false;
}

}  // namespace paceline::loggers
