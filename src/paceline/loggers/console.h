#pragma once

#include "paceline/config/schema.h"
#include "paceline/loggers/progress.h"
#include "paceline/loggers/record.h"
#include "paceline/loggers/sink_context.h"
#include "paceline/loggers/terminal.h"

#include <mutex>
#include <string>
#include <vector>

namespace paceline::loggers {

struct ConsoleConfig {
  ProgressStyle progress = ProgressStyle::kAuto;
  ColorChoice color = ColorChoice::kAuto;
  double interval_s = 10;
  std::int64_t interval_steps = 0;
  std::vector<std::string> hidden = {"time/"};
};

/// Shows a run on standard error: a bar on a terminal, plain lines elsewhere. For rank 0.
std::unique_ptr<metrics::MetricSink> make(const ConsoleConfig& config, const SinkContext& context);

/// Draws records as text. Time comes from the records alone, so the same records give the same
/// text.
class ConsoleWriter final : public RecordWriter {
 public:
  struct Screen {
    TerminalStyle style;
    std::function<int()> width;                   ///< in columns
    std::function<void(std::string_view)> print;  ///< as it is, at once
  };

  ConsoleWriter(ConsoleConfig config, std::int64_t total_steps, Screen screen);
  ~ConsoleWriter() override;

  std::string_view name() const override { return "console"; }
  void write(const Record& record) override;
  void drained() override;
  void sync() override {}
  void resume_at(std::int64_t /*step*/) override {}  // what is printed stays
  /// A line of somebody else's, from any thread.
  void print_above_bar(std::string_view line);

 private:
  void write_step(const Record& record);
  /// Whether a plain line is due.
  bool is_due(const metrics::MetricStep& at) const;
  std::string bar_line(int columns) const;
  std::string plain_line(const Record& record) const;
  std::string values_text(const Record& record) const;
  /// A line of text above the bar.
  void print_line(std::string_view line);

  const ConsoleConfig config_;
  const std::int64_t total_steps_;
  const Screen screen_;
  std::mutex mutex_;  ///< guards what follows

  StepPace pace_;
  double first_time_s_ = 0;  ///< of the first step seen; 0: none yet
  metrics::MetricStep last_;
  std::string last_values_;
  bool has_news_ = false;   ///< the bar on the screen is out of date
  bool has_bar_ = false;    ///< a bar is on the screen
  double last_line_s_ = 0;  ///< time and step of the last plain line; 0: none yet
  std::int64_t last_line_step_ = 0;
};

}  // namespace paceline::loggers

template <>
struct paceline::config::Schema<paceline::loggers::ConsoleConfig> {
  using Config = loggers::ConsoleConfig;
  static constexpr std::string_view name = "console";
  static constexpr std::string_view summary = "Progress on the terminal, or plain lines in a pipe.";
  static constexpr auto fields = std::tuple{
      field(&Config::progress, "progress", "A moving bar, plain lines, or events only.",
            MayChangeOnResume{}),
      field(&Config::color, "color", "Whether to use colour; auto asks the terminal and NO_COLOR.",
            MayChangeOnResume{}),
      field(&Config::interval_s, "interval_s", "Seconds between two plain lines.", AtLeast{0},
            AtMost{86400, "a day"}, MayChangeOnResume{}),
      field(&Config::interval_steps, "interval_steps",
            "Steps between two plain lines, instead of seconds; 0: go by seconds.", AtLeast{0},
            AtMost{1'000'000'000'000, "no run has more steps"}, MayChangeOnResume{}),
      field(&Config::hidden, "hidden", "Metrics whose names begin so are not shown.",
            MayChangeOnResume{})};
};
