#include "paceline/train/watch/skip_limit.h"

#include "paceline/base/error.h"

#include <vector>

namespace paceline::train {

void SkipLimit::add(std::span<const std::string> skipped) {
  if (!skipped.empty()) last_ = skipped.back();
}

void SkipLimit::check(std::int64_t total, std::string_view where,
                      comm::Communicator& communicator) const {
  if (total <= most_) return;
  throw base::DataError(
      fmt::format("{} samples of {} could not be read, and data.max_skipped allows {}: {}; mend or "
                  "remove the files, or raise data.max_skipped",
                  total, where, most_, describe(communicator)));
}

std::string SkipLimit::describe(comm::Communicator& communicator) const {
  constexpr int kMostNamed = 4;
  std::string text;
  int named = 0;
  const std::vector<std::string> all = communicator.all_gather_text(last_);
  for (std::size_t rank = 0; rank < all.size() && named < kMostNamed; ++rank) {
    if (all[rank].empty()) continue;
    text += fmt::format("{}{}", named == 0 ? "" : "; ", all[rank]);
    ++named;
  }
  return text;
}

}  // namespace paceline::train
