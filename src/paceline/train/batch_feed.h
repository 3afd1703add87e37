#pragma once

#include "paceline/data/loader.h"
#include "paceline/tensor/device.h"
#include "paceline/train/batch.h"
#include "paceline/train/byte_images.h"

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
  /// The next batch, on the device. Throws what the loader throws.
  Batch next();
  /// On a device that queues its work: starts to copy the batch after the one at hand, beside the
  /// work that was queued for that. Not at the end of the data.
  void prefetch();

 private:
  struct Incoming {
    Batch batch;
    std::optional<ByteImages> bytes;  ///< if the inputs come so
    std::unique_ptr<tensor::Transfer> transfer;
  };
  Incoming fetch();

  data::DataLoader& loader_;
  tensor::Device& device_;
  std::optional<Incoming> ahead_;
  std::unique_ptr<tensor::Transfer> latest_;  ///< of the batch at hand
};

}  // namespace paceline::train
