#include "paceline/cli/work_progress.h"

#include "paceline/base/text.h"

#include <fmt/format.h>

namespace paceline::cli {

bool WorkProgress::is_due(std::int64_t done, std::int64_t total, Clock::time_point now) {
  if (line_.is_terminal()) {
    if (now - last_ < std::chrono::milliseconds(200)) return false;
    last_ = now;
    return true;
  }
  const std::int64_t tenth = done * 10 / total;
  if (tenth == last_tenth_ || now - last_ < pause_) return false;
  last_tenth_ = tenth;
  last_ = now;
  return true;
}

void WorkProgress::update(std::int64_t done, std::int64_t total) {
  const Clock::time_point now = Clock::now();
  if (!is_due(done, total, now)) return;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double rate = static_cast<double>(done) / std::max(seconds, 1e-9);
  std::string text = fmt::format("{} of {} {}, {:.0f}/s", base::format_count(done),
                                 base::format_count(total), what_, rate);
  if (done < total)
    text +=
        fmt::format(", {} left", base::format_duration(static_cast<double>(total - done) / rate));
  line_.say(text);
}

}  // namespace paceline::cli
