#include "paceline/train/batch/byte_images.h"

#include "paceline/tensor/aten.h"
#include "paceline/tensor/host_tensor.h"

#include <algorithm>
#include <array>

namespace paceline::train {
namespace {

constexpr std::int64_t kNormalization = 9;  ///< three divisors, three means, three deviations
constexpr std::int64_t kErasing = 7;        ///< top, left, bottom, right and three values

std::array<float, kNormalization> normalization_of(const data::NormalizeConfig& config) {
  std::array<float, kNormalization> numbers{255, 255, 255};
  for (std::size_t channel = 0; channel < 3; ++channel) {
    numbers[3 + channel] = static_cast<float>(config.mean[channel]);
    numbers[6 + channel] = static_cast<float>(config.std[channel]);
  }
  return numbers;
}

std::array<float, kErasing> erasing_of(const data::EraseStep& step) {
  const data::Box& box = step.box;
  return {static_cast<float>(box.top),
          static_cast<float>(box.left),
          static_cast<float>(box.bottom()),
          static_cast<float>(box.right()),
          step.value[0],
          step.value[1],
          step.value[2]};
}

/// The most boxes that an image of the batch has.
std::int64_t most_boxes(const std::vector<data::EraseSteps>& erased) {
  std::size_t most = 0;
  for (const data::EraseSteps& steps : erased) most = std::max(most, steps.size());
  return static_cast<std::int64_t>(most);
}

/// 1 for the numbers from `begin` on that are below `end`: [count, 1, size, 1] or, with `axis` 3,
/// [count, 1, 1, size].
at::Tensor is_within(const at::Tensor& begin, const at::Tensor& end, std::int64_t size, int axis) {
  std::vector<std::int64_t> shape{1, 1, 1, 1};
  shape[static_cast<std::size_t>(axis)] = size;
  const at::Tensor places = at::arange(size, begin.options()).view(shape);
  return places.ge(begin.view({-1, 1, 1, 1})).logical_and_(places.lt(end.view({-1, 1, 1, 1})));
}

at::Tensor erased(const at::Tensor& images, const at::Tensor& boxes) {
  const auto column = [&](std::int64_t i) { return boxes.select(1, i); };
  const at::Tensor rows = is_within(column(0), column(2), images.size(2), 2);
  const at::Tensor columns = is_within(column(1), column(3), images.size(3), 3);
  return at::where(rows.logical_and(columns), boxes.narrow(1, 4, 3).view({-1, 3, 1, 1}), images);
}

}  // namespace

ByteImages::ByteImages(const data::HostBatch& host, tensor::Device& device)
    : channels_last_(host.byte_pixels.value().channels_last) {
  // Images with fewer boxes have empty ones, all zeros, behind them.
  const std::int64_t image_size = kErasing * most_boxes(host.erased);
  const std::int64_t size = kNormalization + image_size * std::ssize(host.erased);
  parameters_ = tensor::host_zeros(size, at::kFloat, device);
  auto* next = parameters_.mutable_data_ptr<float>();
  next = std::ranges::copy(normalization_of(host.byte_pixels->normalization), next).out;
  for (const data::EraseSteps& steps : host.erased) {
    auto* box = next;
    for (const data::EraseStep& step : steps) box = std::ranges::copy(erasing_of(step), box).out;
    next += image_size;
  }
}

at::Tensor ByteImages::to_floats(const at::Tensor& bytes, const at::Tensor& parameters) const {
  const auto format =
      channels_last_ ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
  at::Tensor images = bytes.contiguous(format).to(at::kFloat);
  const auto numbers = [&](std::int64_t i) {
    return parameters.narrow(0, 3 * i, 3).view({1, 3, 1, 1});
  };
  // By tensors: a number that LibTorch knows would be multiplied by its inverse, which rounds
  // apart.
  images.div_(numbers(0)).sub_(numbers(1)).div_(numbers(2));
  if (parameters.numel() == kNormalization) return images;
  const at::Tensor boxes = parameters.slice(0, kNormalization).view({images.size(0), -1, kErasing});
  for (std::int64_t i = 0; i < boxes.size(1); ++i) images = erased(images, boxes.select(1, i));
  return images;
}

}  // namespace paceline::train
