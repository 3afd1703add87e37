#include "paceline/algorithms/colout/colout.h"

#include "paceline/base/error.h"
#include "paceline/train/run_context.h"
#include "paceline/train/train_state.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <span>
#include <utility>

namespace paceline::algorithms {
namespace {

std::int64_t num_kept(double dropped, std::int64_t side) {
  return static_cast<std::int64_t>((1.0 - dropped) * static_cast<double>(side));
}

std::vector<std::int64_t> draw_kept(std::int64_t side, std::int64_t count, base::Philox& draws) {
  std::vector<std::int64_t> lines(static_cast<std::size_t>(side));
  std::iota(lines.begin(), lines.end(), 0);
  base::shuffle(lines, draws);
  return first_sorted(std::move(lines), count);
}

/// Rows and columns of the first group, then of the next.
std::vector<std::int64_t> lines_of(const ColoutConfig& config, std::span<const SampleGroup> groups,
                                   nn::ImageSize image) {
  std::vector<std::int64_t> lines;
  for (const SampleGroup& group : groups) {
    const KeptLines drawn = draw_lines(config, group, image);
    std::ranges::copy(drawn.rows, std::back_inserter(lines));
    std::ranges::copy(drawn.columns, std::back_inserter(lines));
  }
  return lines;
}

/// What the fields of a batch would be, but for images of this size.
nn::SampleSizes sizes_with(const train::Batch& batch, nn::ImageSize kept) {
  nn::SampleSizes sizes;
  for (const auto& field : batch.fields) {
    const at::IntArrayRef of_sample = field.tensor.sizes().slice(1);
    sizes[field.name] = of_sample.vec();
  }
  std::vector<std::int64_t>& images = sizes.at(std::string(train::kImages));
  images.at(1) = kept.height;
  images.at(2) = kept.width;
  return sizes;
}

/// A mask or the like would no longer lie over its image.
void refuse_maps(const train::Batch& batch, nn::ImageSize image) {
  for (const auto& field : batch.fields) {
    const at::Tensor& values = field.tensor;
    if (field.name == train::kImages || values.dim() < 3) continue;
    if (values.size(-2) != image.height || values.size(-1) != image.width) continue;
    throw base::ConfigError(
        fmt::format("algorithms.colout drops rows and columns of images alone, and field {} is of "
                    "their size: leave algorithms.colout out",
                    field.name));
  }
}

}  // namespace

nn::ImageSize kept_size(const ColoutConfig& config, nn::ImageSize image) {
  return {num_kept(config.p_row, image.height), num_kept(config.p_col, image.width)};
}

std::vector<std::int64_t> first_sorted(std::vector<std::int64_t> lines, std::int64_t count) {
  lines.resize(static_cast<std::size_t>(count));
  std::ranges::sort(lines);
  return lines;
}

KeptLines draw_lines(const ColoutConfig& config, const SampleGroup& group, nn::ImageSize image) {
  base::Philox draws = group.key.draws(Drawn::kColout);
  const nn::ImageSize kept = kept_size(config, image);
  std::vector<std::int64_t> rows = draw_kept(image.height, kept.height, draws);
  return {std::move(rows), draw_kept(image.width, kept.width, draws)};
}

// Along dimensions in the order of memory: then what is selected is copied as it lies.
at::Tensor thinned(const at::Tensor& images, const at::Tensor& rows, const at::Tensor& columns) {
  if (images.suggest_memory_format() != at::MemoryFormat::ChannelsLast)
    return images.index_select(2, rows).index_select(3, columns);
  return images.permute({0, 2, 3, 1})
      .index_select(1, rows)
      .index_select(2, columns)
      .permute({0, 3, 1, 2});
}

std::uint64_t Colout::copied_bytes(const train::TrainState& /*state*/,
                                   const train::FieldBytes& field_bytes) const {
  const double kept = (1.0 - config_.p_row) * (1.0 - config_.p_col);
  return static_cast<std::uint64_t>(static_cast<double>(bytes_of_images(field_bytes)) * kept);
}

void Colout::apply(train::Event /*event*/, train::TrainState& /*state*/,
                   const train::RunContext& /*run*/) {
  sender_.begin_step();
}

void Colout::transform(train::Batch& batch, train::TrainState& state,
                       const train::RunContext& run) {
  const at::NoGradGuard no_grad;
  check_size(batch, state);
  const at::Tensor& images = images_of(batch, name());
  const nn::ImageSize kept = kept_size(config_, size_of(images));
  const auto groups = sample_groups(batch, state.clock.step, run, config_.group);
  const at::Tensor lines = sender_.send(lines_of(config_, groups, size_of(images)), run.device);
  std::vector<at::Tensor> parts;
  std::int64_t next = 0;
  for (const SampleGroup& group : groups) {
    parts.push_back(thinned(images.narrow(0, group.row, group.count),
                            lines.narrow(0, next, kept.height),
                            lines.narrow(0, next + kept.height, kept.width)));
    next += kept.height + kept.width;
  }
  batch.fields.set(train::kImages, parts.size() == 1 ? parts.front() : at::cat(parts));
}

void Colout::check_size(const train::Batch& batch, const train::TrainState& state) {
  const nn::ImageSize image = size_of(images_of(batch, name()));
  if (image.height == checked_.height && image.width == checked_.width) return;
  refuse_maps(batch, image);
  const nn::ImageSize kept = kept_size(config_, image);
  if (kept.height < 1 || kept.width < 1) {
    throw base::ConfigError(
        fmt::format("algorithms.colout leaves nothing of images of {} x {} pixels: let p_row and "
                    "p_col be smaller",
                    image.height, image.width));
  }
  try {
    state.task->check_samples({.sizes = sizes_with(batch, kept)});
  } catch (const base::ConfigError& error) {
    throw base::ConfigError(fmt::format(
        "algorithms.colout leaves {} x {} of {} x {} pixels, which the network does not take: {}",
        kept.height, kept.width, image.height, image.width, error.what()));
  }
  checked_ = image;
}

std::unique_ptr<train::Algorithm> make(const ColoutConfig& config) {
  return std::make_unique<Colout>(config);
}

}  // namespace paceline::algorithms
