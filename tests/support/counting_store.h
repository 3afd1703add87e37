#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <c10/util/Exception.h>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace paceline::test {

/// What a rank has asked of a store.
struct StoreCount {
  std::atomic<std::int64_t> operations = 0;
  std::atomic<std::int64_t> bytes = 0;  ///< of keys and values, in both directions
};

/// Values in memory, as rank 0's store has them. A rank that waits wakes for its own key alone, so
/// that a thousand threads can wait.
class StoreMemory {
 public:
  using Bytes = std::vector<std::uint8_t>;

  void set(const std::string& key, const Bytes& value) {
    const std::lock_guard lock(mutex_);
    Entry& entry = entries_[key];
    entry.value = value;
    entry.changed.notify_all();
  }
  std::int64_t add(const std::string& key, std::int64_t value) {
    const std::lock_guard lock(mutex_);
    Entry& entry = entries_[key];
    if (entry.value) value += std::stoll(std::string(entry.value->begin(), entry.value->end()));
    const std::string text = std::to_string(value);
    entry.value = Bytes(text.begin(), text.end());
    entry.changed.notify_all();
    return value;
  }
  bool has(const std::string& key) {
    const std::lock_guard lock(mutex_);
    return entries_[key].value.has_value();
  }
  /// Waits for it; throws as LibTorch's stores do when it does not come.
  Bytes await(const std::string& key, std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    Entry& entry = entries_[key];
    if (!entry.changed.wait_for(lock, time, [&] { return entry.value.has_value(); })) {
      C10_THROW_ERROR(DistStoreError, "wait timeout for " + key);
    }
    return *entry.value;
  }

 private:
  struct Entry {
    std::optional<Bytes> value;
    std::condition_variable changed;
  };

  std::mutex mutex_;
  std::map<std::string, Entry> entries_;
};

/// One rank's view of a store in memory. Counts what the rank asks of it.
class CountingStore final : public c10d::Store {
 public:
  using Bytes = StoreMemory::Bytes;

  CountingStore(std::shared_ptr<StoreMemory> memory, std::shared_ptr<StoreCount> count)
      : memory_(std::move(memory)), count_(std::move(count)) {}

  c10::intrusive_ptr<c10d::Store> clone() override {
    return c10::make_intrusive<CountingStore>(memory_, count_);
  }
  using Store::set;
  void set(const std::string& key, const Bytes& value) override {
    count(key.size() + value.size());
    memory_->set(key, value);
  }
  Bytes get(const std::string& key) override {
    Bytes value = memory_->await(key, timeout_);
    count(key.size() + value.size());
    return value;
  }
  std::int64_t add(const std::string& key, std::int64_t value) override {
    count(key.size() + 2 * sizeof value);
    return memory_->add(key, value);
  }
  bool check(const std::vector<std::string>& keys) override {
    count(size_of(keys));
    for (const std::string& key : keys) {
      if (!memory_->has(key)) return false;
    }
    return true;
  }
  void wait(const std::vector<std::string>& keys) override { wait(keys, timeout_); }
  void wait(const std::vector<std::string>& keys,
            const std::chrono::milliseconds& timeout) override {
    count(size_of(keys));
    for (const std::string& key : keys) memory_->await(key, timeout);
  }
  std::vector<Bytes> multiGet(const std::vector<std::string>& keys) override {
    std::vector<Bytes> values;
    std::size_t bytes = size_of(keys);
    for (const std::string& key : keys) {
      values.push_back(memory_->await(key, timeout_));
      bytes += values.back().size();
    }
    count(bytes);
    return values;
  }
  void multiSet(const std::vector<std::string>& keys, const std::vector<Bytes>& values) override {
    std::size_t bytes = size_of(keys);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      bytes += values.at(i).size();
      memory_->set(keys[i], values[i]);
    }
    count(bytes);
  }
  bool deleteKey(const std::string& /*key*/) override { return false; }
  std::int64_t getNumKeys() override { return 0; }
  bool hasExtendedApi() const override { return true; }

 private:
  static std::size_t size_of(const std::vector<std::string>& keys) {
    std::size_t bytes = 0;
    for (const std::string& key : keys) bytes += key.size();
    return bytes;
  }
  void count(std::size_t bytes) {
    ++count_->operations;
    count_->bytes += static_cast<std::int64_t>(bytes);
  }

  std::shared_ptr<StoreMemory> memory_;
  std::shared_ptr<StoreCount> count_;
};

/// The stores of a run's ranks, one memory behind them.
class CountedStores {
 public:
  explicit CountedStores(int world_size) {
    for (int i = 0; i < world_size; ++i) counts_.push_back(std::make_shared<StoreCount>());
  }

  c10::intrusive_ptr<c10d::Store> of(int rank) const {
    return c10::make_intrusive<CountingStore>(memory_, counts_[static_cast<std::size_t>(rank)]);
  }
  /// Of the rank that asked most.
  std::int64_t most_operations() const {
    std::int64_t most = 0;
    for (const auto& count : counts_) most = std::max<std::int64_t>(most, count->operations);
    return most;
  }
  std::int64_t operations() const {
    std::int64_t sum = 0;
    for (const auto& count : counts_) sum += count->operations;
    return sum;
  }
  std::int64_t bytes() const {
    std::int64_t sum = 0;
    for (const auto& count : counts_) sum += count->bytes;
    return sum;
  }
  void start_anew() {
    for (const auto& count : counts_) count->operations = count->bytes = 0;
  }

 private:
  std::shared_ptr<StoreMemory> memory_ = std::make_shared<StoreMemory>();
  std::vector<std::shared_ptr<StoreCount>> counts_;
};

}  // namespace paceline::test
