#pragma once

#include "paceline/data/index/range_index.h"
#include "paceline/data/storage/storage.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace paceline::data {

/// The sources of an index, opened when they are first asked for and then kept; those of this
/// machine only up to a number, as a process may often have no more than 1,024 of its files open.
/// Thread-safe.
template <class Opened>
class OpenSources {
 public:
  using Open = std::function<std::shared_ptr<const Opened>(std::uint32_t source)>;

  /// The index must outlive it.
  OpenSources(const RangeIndex& index, Open open)
      : index_(index),
        open_(std::move(open)),
        opened_(static_cast<std::size_t>(index.num_sources())) {}

  std::shared_ptr<const Opened> at(std::uint32_t source) {
    {
      const std::lock_guard lock(mutex_);
      if (opened_.at(source) != nullptr) return opened_[source];
    }
    std::shared_ptr<const Opened> opened = open_(source);
    const bool is_local = !is_remote(index_.source(source).string());
    const std::lock_guard lock(mutex_);
    if (opened_[source] != nullptr) return opened_[source];  // another thread was faster
    if (is_local && num_local_ == kMaxLocal) return opened;
    if (is_local) ++num_local_;
    return opened_[source] = std::move(opened);
  }

 private:
  static constexpr int kMaxLocal = 400;
  const RangeIndex& index_;
  const Open open_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<const Opened>> opened_;
  int num_local_ = 0;
};

}  // namespace paceline::data
