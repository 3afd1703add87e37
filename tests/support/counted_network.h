#pragma once

#include "paceline/base/error.h"
#include "paceline/tensor/aten.h"

#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <torch/csrc/distributed/c10d/Backend.hpp>

namespace paceline::test {

/// Messages between threads of this process, counted. As with Gloo, a wait that times out closes
/// all connections of its rank, and so does the rank's end.
class CountedNetwork {
 public:
  struct Count {
    std::int64_t messages = 0;
    std::int64_t bytes = 0;
  };

  explicit CountedNetwork(int size) : boxes_(static_cast<std::size_t>(size)) {}

  int size() const { return static_cast<int>(boxes_.size()); }
  c10::intrusive_ptr<c10d::Backend> join(int rank) {
    return c10::make_intrusive<Member>(*this, rank);
  }
  /// Since the last call, for each rank. No rank may be at work.
  std::vector<Count> take_counts() {
    std::vector<Count> counts;
    for (Box& box : boxes_) counts.push_back(std::exchange(box.sent, {}));
    return counts;
  }

 private:
  using Message = std::vector<char>;
  struct Box {
    std::mutex mutex;
    std::condition_variable changed;
    std::map<std::pair<int, int>, std::deque<Message>> messages;  // by source and tag
    std::vector<bool> is_closed;  // by source; empty as long as nobody has closed
    Count sent;
  };

  Box& box(int rank) { return boxes_.at(static_cast<std::size_t>(rank)); }

  void send(int from, int to, int tag, const at::Tensor& tensor) {
    const char* bytes = static_cast<const char*>(tensor.const_data_ptr());
    const std::lock_guard lock(box(to).mutex);
    box(to).messages[{from, tag}].emplace_back(bytes, bytes + tensor.nbytes());
    box(to).changed.notify_all();
    Count& sent = box(from).sent;  // of the rank's own thread
    ++sent.messages;
    sent.bytes += static_cast<std::int64_t>(tensor.nbytes());
  }

  void receive(int from, int to, int tag, const at::Tensor& tensor,
               std::chrono::milliseconds timeout) {
    Box& own = box(to);
    std::unique_lock lock(own.mutex);
    std::deque<Message>& messages = own.messages[{from, tag}];
    const auto is_cut = [&] {
      return !own.is_closed.empty() && (own.is_closed[static_cast<std::size_t>(from)] ||
                                        own.is_closed[static_cast<std::size_t>(to)]);
    };
    if (!own.changed.wait_for(lock, timeout, [&] { return !messages.empty() || is_cut(); })) {
      lock.unlock();
      close(to);
      throw base::CommError(fmt::format("timed out waiting {}ms", timeout.count()));
    }
    if (messages.empty()) throw base::CommError(fmt::format("connection closed by node {}", from));
    PACELINE_CHECK(messages.front().size() == tensor.nbytes(), "a message of {} bytes, not {}",
                   messages.front().size(), tensor.nbytes());
    std::memcpy(tensor.data_ptr(), messages.front().data(), messages.front().size());
    messages.pop_front();
  }

  void close(int rank) {
    for (Box& other : boxes_) {
      const std::lock_guard lock(other.mutex);
      other.is_closed.resize(boxes_.size());
      other.is_closed[static_cast<std::size_t>(rank)] = true;
      other.changed.notify_all();
    }
  }

  class Receipt final : public c10d::Work {
   public:
    Receipt(CountedNetwork& network, int from, int to, int tag, at::Tensor tensor)
        : network_(network), from_(from), to_(to), tag_(tag), tensor_(std::move(tensor)) {}
    bool wait(std::chrono::milliseconds timeout) override {
      network_.receive(from_, to_, tag_, tensor_, timeout);
      return true;
    }

   private:
    CountedNetwork& network_;
    int from_;
    int to_;
    int tag_;
    at::Tensor tensor_;
  };

  class Sent final : public c10d::Work {
   public:
    bool wait(std::chrono::milliseconds /*timeout*/) override { return true; }
  };

  class Member final : public c10d::Backend {
   public:
    Member(CountedNetwork& network, int rank) : Backend(rank, network.size()), network_(network) {}
    ~Member() override { network_.close(getRank()); }
    const std::string getBackendName() const override { return "counted"; }
    c10::intrusive_ptr<c10d::Work> send(std::vector<at::Tensor>& tensors, int to,
                                        int tag) override {
      network_.send(getRank(), to, tag, tensors.at(0));
      return c10::make_intrusive<Sent>();
    }
    c10::intrusive_ptr<c10d::Work> recv(std::vector<at::Tensor>& tensors, int from,
                                        int tag) override {
      return c10::make_intrusive<Receipt>(network_, from, getRank(), tag, tensors.at(0));
    }

   private:
    CountedNetwork& network_;
  };

  std::deque<Box> boxes_;
};

}  // namespace paceline::test
