#pragma once

#include "paceline/base/error.h"

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace paceline::base {

/// A first-in, first-out queue between threads that never holds more than `capacity` items.
template <class T>
class BoundedQueue {
 public:
  explicit BoundedQueue(std::size_t capacity) : capacity_(capacity) {
    PACELINE_CHECK(capacity > 0, "a queue needs room for one item");
  }

  /// Waits for room. False, and the item is dropped, once the queue is closed.
  bool push(T item) {
    std::unique_lock lock(mutex_);
    has_room_.wait(lock, [&] { return is_closed_ || items_.size() < capacity_; });
    return append(std::move(item));
  }

  /// Waits for an item; nothing once the queue is closed and empty.
  std::optional<T> pop() {
    std::unique_lock lock(mutex_);
    has_item_.wait(lock, [&] { return is_closed_ || !items_.empty(); });
    if (items_.empty()) return std::nullopt;
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    has_room_.notify_one();
    return item;
  }

  /// Wakes everyone who waits. Items that are in the queue can still be popped.
  void close() {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    has_item_.notify_all();
    has_room_.notify_all();
  }

  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return items_.size();
  }

 private:
  bool append(T item) {
    if (is_closed_) return false;
    items_.push_back(std::move(item));
    has_item_.notify_one();
    return true;
  }

  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable has_item_;
  std::condition_variable has_room_;
  std::deque<T> items_;
  bool is_closed_ = false;
};

}  // namespace paceline::base
