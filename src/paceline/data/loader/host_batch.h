#pragma once

#include "paceline/data/image/pixels.h"
#include "paceline/data/transforms/configs.h"
#include "paceline/data/transforms/plan.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace paceline::data {

/// What the pixels of a batch are.
enum class PixelForm {
  kFloats,  ///< float32, normalised
  /// 8 bits, to be normalised on the device: a quarter of the memory, and of the way there.
  kBytes,
};

/// One rank's share of a batch in host memory: [count, 3, height, width], in memory row by row of
/// RGB triples (channels-last) or plane by plane, as the loader was asked; bytes always row by row.
struct HostBatch {
  std::shared_ptr<void> pixels;  ///< of `form`
  std::shared_ptr<std::int64_t> labels;
  std::vector<std::int64_t> indices;  ///< in the data set, for messages
  std::int64_t count = 0;             ///< samples of this rank; may be 0 in an epoch's last batch
  std::int64_t global_count = 0;      ///< samples of all ranks, as planned
  std::int64_t first_position = 0;    ///< of this rank's first sample in the epoch's order
  int height = 0;
  int width = 0;
  bool channels_last = true;
  PixelForm form = PixelForm::kFloats;
  NormalizeConfig normalization;  ///< that makes floats of bytes
  /// Of bytes: what to erase of each sample once it is normalised; empty if transforms never do.
  std::vector<std::optional<EraseStep>> erased;
  /// Samples that could not be read, each with what is wrong with it; in training others took
  /// their places, in evaluation they are missing.
  std::vector<std::string> skipped;

  float* floats() const { return static_cast<float*>(pixels.get()); }  ///< of PixelForm::kFloats
  /// Where image `i` begins.
  std::byte* image(std::int64_t i) const;
};

/// Bytes that an image takes in a batch.
std::size_t image_bytes(ImageSize size, PixelForm form);

/// Leaves out the samples at `places`, which are sorted, and closes the gaps.
void remove_samples(HostBatch& batch, std::span<const std::int64_t> places);

}  // namespace paceline::data
