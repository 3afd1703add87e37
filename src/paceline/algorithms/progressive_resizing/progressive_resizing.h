#pragma once

#include "paceline/algorithms/microbatch/box.h"
#include "paceline/algorithms/microbatch/images.h"
#include "paceline/algorithms/microbatch/sample_group.h"
#include "paceline/train/algorithm.h"

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace paceline::algorithms {

/// How a microbatch's images get smaller.
enum class BatchResizing {
  kNearest,  ///< the nearest pixel of each place
  kCrop,     ///< one piece, at a place drawn for the microbatch
};

/// From optimizer step `first_step` on, `wanted` of the `whole` pixels of one side are left.
struct ResizingChange {
  std::int64_t first_step = 0;
  std::int64_t wanted = 0;
  std::int64_t whole = 0;

  /// What both sides are multiplied by; 1: images stay as they are.
  double scale() const { return static_cast<double>(wanted) / static_cast<double>(whole); }
};

/// Both sides times the scale in double, rounded down as Composer does (which may leave a pixel
/// less than ResizingChange::wanted, as 114 for 115 of 224), but at least a pixel.
nn::ImageSize scaled_size(nn::ImageSize image, double scale);

/// Where a microbatch's piece of this size lies: the first row, then the first column, uniform;
/// as in Composer never the last that it could be.
Box draw_piece(const SampleGroup& microbatch, nn::ImageSize piece, nn::ImageSize image);

/// Images [N, channels, height, width] of scaled_size(), as PyTorch's interpolate() makes them of a
/// scale factor below 1 with mode "nearest"; in their layout.
at::Tensor nearest_pixels(const at::Tensor& images, double scale);

/// Composer's ProgressiveResizing: the images of each microbatch get smaller after the loader. A
/// part of data.progressive_resizing, not a component of its own. Draws are keyed as Mixing's.
class ProgressiveResizing final : public train::Algorithm {
 public:
  /// The first change is of step 0, others come after it.
  ProgressiveResizing(BatchResizing mode, std::vector<ResizingChange> changes)
      : mode_(mode), changes_(std::move(changes)) {}

  std::string_view name() const override { return "progressive_resizing"; }
  /// Nothing is copied at the end of a run, when images have their full size: copied_bytes() is 0.
  train::AlgorithmTraits traits() const override {
    return {
        .events = {}, .order = kResizingOrder, .transforms_batches = true, .may_come_or_go = true};
  }
  void apply(train::Event, train::TrainState&, const train::RunContext&) override {}
  /// Throws ConfigError for a batch without images.
  void transform(train::Batch& batch, train::TrainState& state,
                 const train::RunContext& run) override;

 private:
  BatchResizing mode_;
  std::vector<ResizingChange> changes_;
};

}  // namespace paceline::algorithms
