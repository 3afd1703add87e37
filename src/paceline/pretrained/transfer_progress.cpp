#include "paceline/pretrained/transfer_progress.h"

#include "paceline/base/text.h"

#include <algorithm>

#include <fmt/format.h>

namespace paceline::pretrained {

std::string progress_text(std::uint64_t done, std::optional<std::uint64_t> size,
                          std::uint64_t num_new, double seconds) {
  const double rate = static_cast<double>(num_new) / std::max(seconds, 1e-9);
  std::string text = base::format_bytes(done);
  if (size) text += " of " + base::format_bytes(*size);
  text += fmt::format(", {}/s", base::format_bytes(static_cast<std::uint64_t>(rate)));
  if (size && done < *size && rate > 0)
    text +=
        fmt::format(", {} left", base::format_duration(static_cast<double>(*size - done) / rate));
  return text;
}

bool TransferProgress::is_due(std::uint64_t done, Clock::time_point now) {
  constexpr std::uint64_t kPartOfUnknown = std::uint64_t{256} << 20;  // bytes
  if (line_.is_terminal()) {
    if (now - last_ < std::chrono::milliseconds(200)) return false;
    last_ = now;
    return true;
  }
  const std::uint64_t part =
      done / (size_ ? std::max<std::uint64_t>(*size_ / 10, 1) : kPartOfUnknown);
  if (part == last_part_ || now - last_ < std::chrono::seconds(2)) return false;
  last_part_ = part;
  last_ = now;
  return true;
}

void TransferProgress::update(std::uint64_t done) {
  if (!done_at_start_) done_at_start_ = done;
  const Clock::time_point now = Clock::now();
  if (!is_due(done, now)) return;
  const std::uint64_t num_new = done - std::min(done, *done_at_start_);
  line_.say(fmt::format(
      "{}: {}", name_,
      progress_text(done, size_, num_new, std::chrono::duration<double>(now - start_).count())));
}

}  // namespace paceline::pretrained
