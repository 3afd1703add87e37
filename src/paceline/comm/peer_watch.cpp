#include "paceline/comm/peer_watch.h"

#include "paceline/base/error.h"
#include "paceline/comm/deadline.h"

#include <algorithm>
#include <utility>

#include <torch/csrc/distributed/c10d/Store.hpp>

namespace paceline::comm {
namespace {

using Clock = std::chrono::steady_clock;
using Histories = std::vector<std::optional<CollectiveHistory>>;

std::string wake_key(int rank) { return fmt::format("watch/wake/{}", rank); }
std::string history_key(int rank) { return fmt::format("watch/history/{}", rank); }
std::string waiting_key(int rank) { return fmt::format("watch/waiting/{}", rank); }
constexpr const char* kLeftKey = "watch/left";
constexpr const char* kToldKey = "watch/told";  // counts ranks that have heard the others

/// As long as LibTorch's store can wait: it counts milliseconds in an int.
constexpr std::chrono::hours kListenTime{24 * 24};

/// What a rank's wake key holds when the rank itself ends its listener.
constexpr std::string_view kStop = "stop";

void listen(const c10::intrusive_ptr<c10d::Store>& store, int rank,
            const FlightRecorder& recorder) {
  try {
    const std::string key = wake_key(rank);
    store->wait({key}, kListenTime);
    if (store->get_to_str(key) != kStop) {
      store->set(history_key(rank), to_json(recorder.history()));
    }
  } catch (const std::exception&) {
    // The store is gone (or kListenTime is over), which ends the listener's work. The rank itself
    // learns of it from its collectives: whoever served the store took part in them.
  }
}

/// What the ranks answered.
struct Answers {
  Histories histories;
  std::vector<int> unreadable;
};

/// Takes a rank's answer if there is one. Whether there was.
bool take_answer(const c10::intrusive_ptr<c10d::Store>& store, int rank, Answers& answers) {
  if (!store->check({history_key(rank)})) return false;
  auto& history = answers.histories[static_cast<std::size_t>(rank)];
  try {
    history = history_from_json(store->get_to_str(history_key(rank)));
  } catch (const base::CommError&) {
    answers.unreadable.push_back(rank);
  }
  return true;
}

Answers collect(const c10::intrusive_ptr<c10d::Store>& store, int own_rank, int world_size,
                const CollectiveHistory& own, Clock::time_point deadline) {
  Answers answers{Histories(static_cast<std::size_t>(world_size)), {}};
  answers.histories[static_cast<std::size_t>(own_rank)] = own;
  store->set(history_key(own_rank), to_json(own));
  std::vector<int> waited_for;
  for (int rank = 0; rank < world_size; ++rank) {
    store->set(wake_key(rank), std::string("wake"));
    if (rank != own_rank) waited_for.push_back(rank);
  }
  while (!waited_for.empty() && Clock::now() < deadline) {
    std::erase_if(waited_for, [&](int rank) { return take_answer(store, rank, answers); });
    std::this_thread::sleep_for(std::chrono::milliseconds(waited_for.empty() ? 0 : 10));
  }
  return answers;
}

/// Rank 0 may serve the store: it stays a moment for those that live and have not asked yet.
void let_others_ask(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                    const Histories& histories) {
  const auto deadline = Clock::now() + std::chrono::seconds(1);
  const auto alive = std::ranges::count_if(histories, [](const auto& h) { return h.has_value(); });
  std::int64_t told = store->add(kToldKey, 1);
  while (rank == 0 && told < alive && Clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    told = store->add(kToldKey, 0);
  }
}

}  // namespace

PeerWatch::PeerWatch(c10::intrusive_ptr<c10d::Store> store, int rank, int world_size,
                     std::shared_ptr<const FlightRecorder> recorder)
    : store_(std::move(store)),
      rank_(rank),
      world_size_(world_size),
      recorder_(std::move(recorder)) {
  listener_ = std::thread([own_store = store_->clone(), rank, shared_recorder = recorder_] {
    listen(own_store, rank, *shared_recorder);
  });
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
  failure.histories[static_cast<std::size_t>(rank_)] = recorder_->history();
  const auto ask = [store = store_, rank = rank_, world_size = world_size_,
                    own = recorder_->history(), deadline = Clock::now() + grace] {
    Answers answers = collect(store, rank, world_size, own, deadline);
    let_others_ask(store, rank, answers.histories);
    return answers;
  };
  try {
    if (auto answers = within(grace + std::chrono::seconds(2), ask)) {
      failure.histories = std::move(answers->histories);
      failure.unreadable = std::move(answers->unreadable);
      return;
    }
  } catch (const std::exception&) {
    // What went wrong with the store is told by store_is_gone.
  }
  failure.store_is_gone = true;
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
  const auto is_last = [store = store_, rank = rank_, world_size = world_size_,
                        deadline = Clock::now() + timeout] {
    std::int64_t left = store->add(kLeftKey, 1);
    while (rank == 0 && left < world_size && Clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      left = store->add(kLeftKey, 0);
    }
    return true;
  };
  within(timeout + std::chrono::seconds(1), is_last);
}

}  // namespace paceline::comm
