#pragma once

#include "paceline/comm/communicator.h"
#include "paceline/tensor/device.h"
#include "paceline/train/batch/batch_feed.h"

#include <atomic>
#include <cstdint>
#include <functional>

namespace paceline::train {

/// One look at a row of training batches that trains nothing and counts nothing. Rank 0 tells on
/// standard error how far it is, if it takes long.
class EpochPass {
 public:
  /// This rank's share, on the device, of a batch counted over all epochs.
  using Look = std::function<void(std::int64_t number, Batch batch)>;

  /// All must outlive the pass; a signal asks it to stop.
  EpochPass(BatchFeed& feed, comm::Communicator& communicator, tensor::Device& device,
            const std::atomic<int>& received_signal)
      : feed_(feed),
        communicator_(communicator),
        device_(device),
        received_signal_(received_signal) {}

  /// Calls `look` with each of the `num_batches` from `first` on; false on all ranks if one of them
  /// was asked to stop before it had seen all. The feed stands anywhere afterwards. Every rank must
  /// call it. Throws what the loader and `look` throw.
  bool run(std::int64_t first, std::int64_t num_batches, const Look& look);

  double seconds() const { return seconds_; }  ///< that the run took

 private:
  BatchFeed& feed_;
  comm::Communicator& communicator_;
  tensor::Device& device_;
  const std::atomic<int>& received_signal_;
  double seconds_ = 0;
};

}  // namespace paceline::train
