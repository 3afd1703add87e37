#pragma once

#include "paceline/comm/communicator.h"
#include "paceline/data/loader/loader.h"
#include "paceline/tensor/device.h"
#include "paceline/train/batch/batch.h"
#include "paceline/train/batch/byte_images.h"

#include <memory>
#include <optional>

namespace paceline::train {

/// Brings a loader's batches to the device, and makes floats there of bytes. The host memory of a
/// batch goes back to the loader once the copy is done, and not before the next batch is asked for.
class BatchFeed {
 public:
  /// Both must outlive the feed.
  BatchFeed(data::DataLoader& loader, tensor::Device& device) : loader_(loader), device_(device) {}

  void seek(std::int64_t position);
  /// Whether next() has its batch at hand.
  bool is_ready() const { return ahead_.has_value() || loader_.is_ready(); }
  /// The next batch, on the device. Throws what the loader throws.
  Batch next();
  /// The same, or nothing where the program was asked to stop before the batch could be read.
  std::optional<Batch> next_unless_stopped();
  /// The same, but nothing on every rank if one has none: without its batch a rank cannot take part
  /// in a step. Every rank must call it, with the same `may_lack`: false where all are known to
  /// have theirs at hand, so that nobody needs to ask.
  std::optional<Batch> next_of_all(comm::Communicator& communicator, bool may_lack);
  /// On a device that queues its work: starts to copy the batch after the one at hand, beside the
  /// work that was queued for that. Not at the end of the data.
  void prefetch();

 private:
  struct Incoming {
    Batch batch;
    std::optional<ByteImages> bytes;  ///< if the images come so
    std::unique_ptr<tensor::Transfer> transfer;
  };
  Incoming fetch();

  data::DataLoader& loader_;
  tensor::Device& device_;
  std::optional<Incoming> ahead_;
  std::unique_ptr<tensor::Transfer> latest_;  ///< of the batch at hand
};

}  // namespace paceline::train
