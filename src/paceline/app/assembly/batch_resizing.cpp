#include "paceline/app/assembly/batch_resizing.h"

#include "paceline/algorithms/progressive_resizing/progressive_resizing.h"
#include "paceline/app/assembly/data_assembly.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace paceline::app {

data::ImageSize resized_after_loader(data::ImageSize whole, int shorter) {
  const algorithms::ResizingChange change{0, shorter, std::min(whole.height, whole.width)};
  if (change.scale() >= 1) return whole;
  const nn::ImageSize size = algorithms::scaled_size({whole.height, whole.width}, change.scale());
  return {static_cast<int>(size.height), static_cast<int>(size.width)};
}

std::unique_ptr<train::Algorithm> make_batch_resizing(const ProgressiveResizing& config,
                                                      const DataPart& part) {
  if (!config.is_after_loader()) return nullptr;
  const data::ImageSize whole = part.pipeline->output_size();
  std::vector<algorithms::ResizingChange> changes;
  for (const ImageSizeChange& change : part.image_sizes)
    changes.push_back({change.first_step, change.wanted, std::min(whole.height, whole.width)});
  const auto mode = config.mode == ResizingMode::kNearest ? algorithms::BatchResizing::kNearest
                                                          : algorithms::BatchResizing::kCrop;
  return std::make_unique<algorithms::ProgressiveResizing>(mode, std::move(changes));
}

}  // namespace paceline::app
