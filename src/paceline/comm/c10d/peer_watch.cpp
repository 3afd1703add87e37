#include "paceline/comm/c10d/peer_watch.h"

#include "paceline/base/error.h"
#include "paceline/comm/c10d/roll_call.h"
#include "paceline/comm/c10d/run_store.h"
#include "paceline/comm/c10d/store_query.h"
#include "paceline/comm/deadline.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include <torch/csrc/distributed/c10d/Store.hpp>

namespace paceline::comm {
namespace {

using StorePointer = c10::intrusive_ptr<c10d::Store>;

std::string wake_key(int rank) { return fmt::format("watch/wake/{}", rank); }
std::string history_key(int rank) { return fmt::format("watch/history/{}", rank); }
std::string waiting_key(int rank) { return fmt::format("watch/waiting/{}", rank); }
constexpr const char* kWakersKey = "watch/wakers";             // counts ranks that wanted to wake
constexpr const char* kFailuresKey = "watch/failures";         // counts ranks that have failed
constexpr const char* kAnswersKey = "watch/answers";           // counts histories
constexpr const char* kAllAnsweredKey = "watch/all_answered";  // the last one has come
constexpr const char* kRollCallKey = "watch/roll_call";        // what the first that failed heard
constexpr const char* kHeardKey = "watch/heard";         // counts ranks that have the roll call
constexpr const char* kAllHeardKey = "watch/all_heard";  // those that live have it
constexpr const char* kLeftKey = "watch/left";           // counts ranks that have left
constexpr const char* kAllLeftKey = "watch/all_left";    // the last one has left

/// As long as LibTorch's store can wait: it counts milliseconds in an int.
constexpr std::chrono::hours kListenTime{24 * 24};

/// For what takes the store a moment.
constexpr std::chrono::seconds kMoment{1};

/// What a rank's wake key holds when the rank itself ends its listener.
constexpr std::string_view kStop = "stop";

/// The ranks of a group, as each of them sees it in the store.
struct Group {
  StorePointer store;
  int rank = 0;
  int world_size = 0;
};

std::vector<std::string> keys_of_all(const Group& group, std::string (*key_of)(int rank)) {
  std::vector<std::string> keys;
  for (int rank = 0; rank < group.world_size; ++rank) keys.push_back(key_of(rank));
  return keys;
}

void listen(const Group& group, const FlightRecorder& recorder,
            const std::function<void()>& on_alarm) {
  try {
    while (!await_key(*group.store, wake_key(group.rank), kListenTime)) {
    }
    if (group.store->get_to_str(wake_key(group.rank)) == kStop) return;
    group.store->set(history_key(group.rank), to_json(recorder.history()));
    if (group.store->add(kAnswersKey, 1) == group.world_size) {
      group.store->set(kAllAnsweredKey, std::string("yes"));
    }
  } catch (const std::exception&) {
    // The store is gone, and with it rank 0, or whoever serves it.
  }
  on_alarm();
}

/// Each listener has its own key, for its own rank can stop it by that alone; all are written in
/// one operation, and by one rank.
void wake(const Group& group) {
  if (group.store->add(kWakersKey, 1) != 1) return;
  const std::string word = "wake";
  const std::vector<std::string> keys = keys_of_all(group, wake_key);
  group.store->multiSet(
      keys, std::vector(keys.size(), std::vector<std::uint8_t>(word.begin(), word.end())));
}

/// The answers of those ranks, in one operation; nothing if the store takes one of them for forged.
std::vector<std::string> answers_of(const Group& group, const std::vector<std::string>& keys) {
  std::vector<std::string> answers;
  try {
    for (const auto& bytes : group.store->multiGet(keys)) {
      answers.emplace_back(bytes.begin(), bytes.end());
    }
  } catch (const base::CommError&) {
    answers.clear();
  }
  return answers;
}

/// What the ranks have answered until now.
RollCall read_answers(const Group& group) {
  RollCall call;
  call.histories.resize(static_cast<std::size_t>(group.world_size));
  std::vector<std::string> keys = keys_of_all(group, history_key);
  const std::vector<std::size_t> silent = missing_keys(*group.store, keys);
  std::vector<std::size_t> ranks;
  for (std::size_t rank = 0; rank < keys.size(); ++rank) {
    if (!std::ranges::binary_search(silent, rank)) ranks.push_back(rank);
  }
  for (const std::size_t rank : silent | std::views::reverse) {
    keys.erase(keys.begin() + static_cast<std::ptrdiff_t>(rank));
  }
  const std::vector<std::string> answers = answers_of(group, keys);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    try {
      call.histories[ranks[i]] =
          history_from_json(answers.empty() ? group.store->get_to_str(keys[i]) : answers[i]);
    } catch (const base::CommError&) {
      call.unreadable.push_back(static_cast<int>(ranks[i]));
    }
  }
  return call;
}

/// The first rank that fails hears the others, and writes down what they said for those that fail
/// after it. Should it die meanwhile, each of these reads the answers itself.
RollCall call_roll(const Group& group, std::chrono::milliseconds grace) {
  wake(group);
  const bool is_first = group.store->add(kFailuresKey, 1) == 1;
  if (is_first) {
    await_key(*group.store, kAllAnsweredKey, grace);
  } else if (await_key(*group.store, kRollCallKey, grace + kMoment)) {
    try {
      return roll_call_from_json(group.store->get_to_str(kRollCallKey), group.world_size);
    } catch (const base::CommError&) {
      // A stranger wrote it. What a stranger wrote as a rank's answer is told by its rank.
    }
  }
  RollCall call = read_answers(group);
  if (is_first) group.store->set(kRollCallKey, to_json(call, RunStore::kLongestValue));
  return call;
}

/// Rank 0 may serve the store: it stays a moment for those that live and have not asked yet.
void let_others_hear(const Group& group, const RollCall& call) {
  const auto alive = std::ranges::count_if(call.histories,
                                           [](const auto& history) { return history.has_value(); });
  if (group.store->add(kHeardKey, 1) >= alive) {
    group.store->set(kAllHeardKey, std::string("yes"));
  } else if (group.rank == 0) {
    await_key(*group.store, kAllHeardKey, kMoment);
  }
}

}  // namespace

PeerWatch::PeerWatch(StorePointer store, int rank, int world_size,
                     std::shared_ptr<const FlightRecorder> recorder, std::function<void()> on_alarm)
    : store_(std::move(store)),
      rank_(rank),
      world_size_(world_size),
      recorder_(std::move(recorder)) {
  listener_ =
      std::thread([group = Group{store_->clone(), rank, world_size}, shared_recorder = recorder_,
                   alarm = std::move(on_alarm)] { listen(group, *shared_recorder, alarm); });
}

PeerWatch::~PeerWatch() { stop(); }

void PeerWatch::stop() {
  if (!listener_.joinable()) {
    return;
  }
  const auto woken = [store = store_, rank = rank_] {
    try {
      store->set(wake_key(rank), std::string(kStop));
    } catch (const std::exception&) {
      // The store is gone, so the listener has ended or is about to.
    }
    return true;
  };
  if (within(std::chrono::seconds(2), woken)) {
    listener_.join();
  } else {
    listener_.detach();  // the store's host is frozen; the thread owns all that it uses
  }
}

void PeerWatch::ask_all(CollectiveFailure& failure, std::chrono::milliseconds grace) const {
  failure.histories.assign(static_cast<std::size_t>(world_size_), std::nullopt);
  const auto ask = [group = Group{store_, rank_, world_size_}, grace] {
    RollCall call = call_roll(group, grace);
    let_others_hear(group, call);
    return call;
  };
  try {
    if (auto call = within(grace + 4 * kMoment, ask)) {
      failure.histories = std::move(call->histories);
      failure.unreadable = std::move(call->unreadable);
    } else {
      failure.store_is_gone = true;
    }
  } catch (const std::exception&) {
    failure.store_is_gone = true;  // what went wrong with it does not matter
  }
  failure.histories[static_cast<std::size_t>(rank_)] = recorder_->history();
}

void PeerWatch::wake_all() const {
  const auto wake_group = [group = Group{store_, rank_, world_size_}] {
    wake(group);
    return true;
  };
  try {
    within(kMoment, wake_group);
  } catch (const std::exception&) {
    // The store is gone, which wakes them, too.
  }
}

bool PeerWatch::waits_in_vain() const {
  static constexpr int kNeighbours = 8;  // where two ranks differ, two neighbours do
  const auto look = [store = store_, rank = rank_, world_size = world_size_,
                     own = recorder_->history()] {
    store->set(waiting_key(rank), to_json(own));
    for (int distance = 1; distance <= std::min(kNeighbours, world_size - 1); ++distance) {
      const std::string key = waiting_key((rank + distance) % world_size);
      if (!store->check({key})) continue;
      if (!are_in_step(own, history_from_json(store->get_to_str(key)))) return true;
    }
    return false;
  };
  try {
    return within(std::chrono::seconds(2), look).value_or(false);
  } catch (const std::exception&) {
    return false;
  }
}

void PeerWatch::leave(std::chrono::milliseconds timeout) {
  stop();
  const auto go = [store = store_, rank = rank_, world_size = world_size_, timeout] {
    if (store->add(kLeftKey, 1) == world_size) {
      store->set(kAllLeftKey, std::string("yes"));
    } else if (rank == 0) {
      await_key(*store, kAllLeftKey, timeout);
    }
    return true;
  };
  within(timeout + kMoment, go);
}

}  // namespace paceline::comm
