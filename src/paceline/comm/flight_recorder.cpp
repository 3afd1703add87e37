#include "paceline/comm/flight_recorder.h"

#include "paceline/base/error.h"
#include "paceline/base/json.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace paceline::comm {
namespace {

const CollectiveRecord* find(const CollectiveHistory& history, std::uint64_t sequence) {
  const auto found =
      std::find_if(history.begin(), history.end(),
                   [&](const CollectiveRecord& record) { return record.sequence == sequence; });
  return found == history.end() ? nullptr : &*found;
}

/// What a history has in the place of a record, if that is another collective.
const CollectiveRecord* find_other(const CollectiveHistory& history,
                                   const CollectiveRecord& record) {
  const CollectiveRecord* found = find(history, record.sequence);
  return found != nullptr && found->what != record.what ? found : nullptr;
}

std::string in_words(const CollectiveRecord& record) {
  return record.label.empty() ? record.what : fmt::format("{} '{}'", record.what, record.label);
}

std::string position(const CollectiveHistory& history) {
  if (history.empty()) {
    return "has issued no collective yet";
  }
  const CollectiveRecord& last = history.back();
  return fmt::format("is at #{} {} ({})", last.sequence, in_words(last),
                     last.is_done ? "done" : "not done");
}

/// The first collective on which another rank differs from the reporting one; empty when none does.
std::string divergence(const CollectiveFailure& failure, const CollectiveHistory& own) {
  for (const CollectiveRecord& record : own) {
    for (std::size_t rank = 0; rank < failure.histories.size(); ++rank) {
      const auto& history = failure.histories[rank];
      const CollectiveRecord* other = history ? find_other(*history, record) : nullptr;
      if (other != nullptr) {
        return fmt::format(
            "the order of collectives diverged at #{}: rank {} issued {}, rank {} issued {}",
            record.sequence, failure.rank, in_words(record), rank, in_words(*other));
      }
    }
  }
  return {};
}

std::vector<std::size_t> ranks_without_history(const CollectiveFailure& failure) {
  std::vector<std::size_t> ranks;
  for (std::size_t rank = 0; rank < failure.histories.size(); ++rank) {
    if (!failure.histories[rank]) {
      ranks.push_back(rank);
    }
  }
  return ranks;
}

std::vector<std::size_t> ranks_behind(const CollectiveFailure& failure) {
  std::vector<std::size_t> ranks;
  for (std::size_t rank = 0; rank < failure.histories.size(); ++rank) {
    const auto& history = failure.histories[rank];
    if (history && (history->empty() || history->back().sequence < failure.sequence)) {
      ranks.push_back(rank);
    }
  }
  return ranks;
}

std::string ranks_in_words(const std::vector<std::size_t>& ranks) {
  return fmt::format("rank{} {} {}", ranks.size() == 1 ? "" : "s", fmt::join(ranks, ", "),
                     ranks.size() == 1 ? "is" : "are");
}

std::string headline(const CollectiveFailure& failure, const CollectiveHistory& own) {
  if (std::string text = divergence(failure, own); !text.empty()) {
    return text;
  }
  if (failure.store_is_gone) {
    return "the store is gone, so rank 0 (or the launcher, where it serves the store) is lost or "
           "has left";
  }
  if (!failure.unreadable.empty()) {
    return fmt::format(
        "what rank {} wrote to the ranks' store is not a rank's words: another program writes "
        "there",
        fmt::join(failure.unreadable, ", "));
  }
  if (const auto lost = ranks_without_history(failure); !lost.empty()) {
    return fmt::format("{} lost: dead, stopped or unreachable", ranks_in_words(lost));
  }
  if (const auto behind = ranks_behind(failure); !behind.empty()) {
    return fmt::format("{} alive but late", ranks_in_words(behind));
  }
  return "all ranks came to the same collective, but it did not end; the network is down or slower "
         "than the time-out allows";
}

}  // namespace

std::uint64_t FlightRecorder::issue(const CollectiveSignature& signature, std::string_view label) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t sequence = ++issued_;
  Entry& entry = ring_[sequence % kCapacity];
  entry.signature = signature;
  entry.label.fill('\0');
  label.copy(entry.label.data(), entry.label.size() - 1);
  entry.is_done = false;
  return sequence;
}

void FlightRecorder::complete(std::uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  if (sequence + kCapacity > issued_) {  // otherwise its place holds a later collective
    ring_[sequence % kCapacity].is_done = true;
  }
}

CollectiveHistory FlightRecorder::history() const {
  const std::lock_guard lock(mutex_);
  CollectiveHistory records;
  const std::uint64_t first = issued_ < kCapacity ? 1 : issued_ - kCapacity + 1;
  for (std::uint64_t sequence = first; sequence <= issued_; ++sequence) {
    const Entry& entry = ring_[sequence % kCapacity];
    records.push_back({.sequence = sequence,
                       .what = to_text(entry.signature),
                       .label = entry.label.data(),
                       .is_done = entry.is_done});
  }
  return records;
}

std::string to_json(const CollectiveHistory& history) {
  nlohmann::json json = nlohmann::json::array();
  for (const CollectiveRecord& record : history) {
    json.push_back({record.sequence, record.what, record.label, record.is_done});
  }
  return json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);  // a cut label may end
}  // inside a character

CollectiveHistory history_from_json(const std::string& json) {
  constexpr std::size_t kLongestText = 64 << 10;
  try {
    CollectiveHistory history;
    for (const auto& record : base::parse_json(json, kLongestText)) {
      history.push_back({.sequence = record.at(0).get<std::uint64_t>(),
                         .what = record.at(1).get<std::string>(),
                         .label = record.at(2).get<std::string>(),
                         .is_done = record.at(3).get<bool>()});
    }
    return history;
  } catch (const std::exception& error) {
    throw base::CommError(fmt::format("not a history of collectives: {}", error.what()));
  }
}

bool are_in_step(const CollectiveHistory& left, const CollectiveHistory& right) {
  return std::all_of(left.begin(), left.end(), [&](const CollectiveRecord& record) {
    return find_other(right, record) == nullptr;
  });
}

std::string explain(const CollectiveFailure& failure) {
  const auto& reported = failure.histories.at(static_cast<std::size_t>(failure.rank));
  const CollectiveHistory own = reported.value_or(CollectiveHistory{});
  const CollectiveRecord* failed = find(own, failure.sequence);
  std::string text = fmt::format("{}. Rank {} failed at collective #{}{}: {}",
                                 headline(failure, own), failure.rank, failure.sequence,
                                 failed == nullptr ? "" : " " + in_words(*failed), failure.cause);
  constexpr std::size_t kMaxRanksShown = 16;
  const std::size_t shown = std::min(failure.histories.size(), kMaxRanksShown);
  for (std::size_t rank = 0; rank < shown && !failure.store_is_gone; ++rank) {
    const auto& history = failure.histories[rank];
    text += fmt::format("\n  rank {} {}", rank, history ? position(*history) : "did not answer");
  }
  return text;
}

}  // namespace paceline::comm
