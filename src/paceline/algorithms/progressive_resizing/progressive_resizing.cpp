#include "paceline/algorithms/progressive_resizing/progressive_resizing.h"

#include "paceline/train/run_context.h"
#include "paceline/train/train_state.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

namespace paceline::algorithms {
namespace {

std::int64_t scaled_side(std::int64_t side, double scale) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(side) * scale));
}

std::int64_t draw_first(std::int64_t piece, std::int64_t whole, base::Philox& draws) {
  const std::int64_t places = std::max<std::int64_t>(1, whole - piece);
  return static_cast<std::int64_t>(draws.below(static_cast<std::uint64_t>(places)));
}

const ResizingChange& change_of(const std::vector<ResizingChange>& changes, std::int64_t step) {
  const auto later = std::ranges::upper_bound(changes, step, {}, &ResizingChange::first_step);
  return *std::prev(later);
}

}  // namespace

nn::ImageSize scaled_size(nn::ImageSize image, double scale) {
  return {scaled_side(image.height, scale), scaled_side(image.width, scale)};
}

Box draw_piece(const SampleGroup& microbatch, nn::ImageSize piece, nn::ImageSize image) {
  base::Philox draws = microbatch.key.draws(Drawn::kResizing);
  const std::int64_t top = draw_first(piece.height, image.height, draws);
  const std::int64_t left = draw_first(piece.width, image.width, draws);
  return {.top = top, .left = left, .bottom = top + piece.height, .right = left + piece.width};
}

at::Tensor nearest_pixels(const at::Tensor& images, double scale) {
  const nn::ImageSize size = scaled_size(size_of(images), scale);
  return at::upsample_nearest2d(images, {size.height, size.width}, scale, scale);
}

void ProgressiveResizing::transform(train::Batch& batch, train::TrainState& state,
                                    const train::RunContext& run) {
  const double scale = change_of(changes_, state.clock.step).scale();
  if (scale >= 1) return;
  const at::NoGradGuard no_grad;
  const at::Tensor& images = images_of(batch, name());
  if (mode_ == BatchResizing::kNearest) {
    batch.fields.set(train::kImages, nearest_pixels(images, scale));
    return;
  }
  const SampleGroup microbatch =
      sample_groups(batch, state.clock.step, run, /*group=*/std::nullopt).front();
  const nn::ImageSize image = size_of(images);
  const Box piece = draw_piece(microbatch, scaled_size(image, scale), image);
  batch.fields.set(train::kImages,
                   inside(images, piece).contiguous(images.suggest_memory_format()));
}

}  // namespace paceline::algorithms
