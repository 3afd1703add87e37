#include "paceline/data/sources/ct/ct_maker.h"

#include "paceline/base/error.h"
#include "paceline/data/sources/ct/ct_constants.h"
#include "paceline/data/sources/ct/ct_dataset.h"
#include "paceline/data/sources/ct/ct_noise.h"
#include "paceline/data/sources/ct/ct_projector.h"
#include "paceline/data/transforms/draw.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace paceline::data {
namespace {

constexpr float kAirHu = -1000;

double both_sides(double most, base::Philox& draws) { return most * draws.uniform(-1, 1); }

std::size_t values_of(const FieldSpec& field) { return sample_bytes(field) / bytes_of(field.type); }

std::span<float> floats_at(std::byte* target, const FieldSpec& field) {
  return {reinterpret_cast<float*>(target), values_of(field)};  // NOLINT: the loader's memory
}

template <class Value>
void window(std::span<const Value> hu, const std::array<double, 2>& range,
            std::span<float> target) {
  const auto low = static_cast<float>(range[0]);
  const auto scale = static_cast<float>(2 / (range[1] - range[0]));
  std::ranges::transform(hu, target.begin(), [&](Value value) {
    return std::clamp((static_cast<float>(value) - low) * scale - 1.0F, -1.0F, 1.0F);
  });
}

float from_intensity(float intensity) { return 2 * std::clamp(intensity, 0.0F, 1.0F) - 1; }

}  // namespace

CtDraw draw_augmentation(const CtAugmentationConfig& config, std::size_t num_views,
                         base::Philox& draws) {
  CtDraw draw;
  const bool is_flipped = draws.below(2) == 1;
  draw.motion.is_mirrored = config.flip && is_flipped;
  draw.motion.turn_degrees = both_sides(config.turn_degrees, draws);
  for (double& shift : draw.motion.shift_mm) shift = both_sides(config.shift_mm, draws);
  draw.motion.scale = draw_from(config.scale, draws);
  for (std::size_t view = 0; view < num_views; ++view)
    draw.gains.push_back(draw_from(config.gain, draws));
  return draw;
}

/// Pointers into its bytes.
struct CtMaker::Parts {
  std::span<const std::int16_t> cube;
  const std::uint8_t* intensities = nullptr;  ///< float32, perhaps not aligned; null: none
  double fov_mm = 0;
};

CtMaker::CtMaker(CtConfig config, std::vector<FieldSpec> stored, std::int64_t xray_size,
                 bool is_training)
    : config_(std::move(config)),
      stored_(std::move(stored)),
      side_(stored_.front().sizes.front()),
      xray_size_(xray_size),
      is_training_(is_training) {
  if (stored_.size() == 3) xray_size_ = stored_[1].sizes.back();
  const auto views = std::ssize(config_.geometry.angles);
  fields_ = {
      {.name = std::string(kVolumeField), .sizes = {side_, side_, side_}},
      {.name = std::string(kXraysField), .sizes = {views, xray_size_, xray_size_}},
  };
  if (is_training_ && config_.augment.changes_xrays())
    fields_.push_back({.name = std::string(kCleanXraysField), .sizes = fields_[1].sizes});
}

CtMaker::Parts CtMaker::parts_of(const StoredSample& sample) const {
  if (sample.bytes.size() != sample_bytes(stored_))
    throw base::DataError(fmt::format("holds {} bytes, expected {} for its fields",
                                      sample.bytes.size(), sample_bytes(stored_)));
  Parts parts;
  const std::uint8_t* at = sample.bytes.data();
  parts.cube = {reinterpret_cast<const std::int16_t*>(at),  // NOLINT: a vector's beginning
                values_of(stored_.front())};
  at += sample_bytes(stored_.front());
  if (stored_.size() == 3) parts.intensities = std::exchange(at, at + sample_bytes(stored_[1]));
  std::memcpy(&parts.fov_mm, at, sizeof parts.fov_mm);
  return parts;
}

void CtMaker::make_xrays(const Parts& parts, std::span<const float> hu, const CtDraw& draw,
                         base::Philox& draws, std::span<std::byte* const> targets) const {
  const std::span<float> target = floats_at(targets[1], fields_[1]);
  const CtProjector projector(config_, xray_size_, parts.fov_mm);
  const bool is_moved = is_training_ && config_.augment.moves();
  if (parts.intensities != nullptr && !is_moved) {
    std::memcpy(target.data(), parts.intensities, target.size_bytes());
  } else {
    projector.integrate(hu, side_, target);
    projector.to_intensities(target);
  }
  if (fields_.size() == 3)
    std::ranges::transform(target, floats_at(targets[2], fields_[2]).begin(), from_intensity);
  if (is_training_ && config_.augment.photons) {
    const auto full_scale = static_cast<float>(config_.full_scale);
    for (float& value : target) value *= full_scale;
    add_photon_noise(target, parts.fov_mm, *config_.augment.photons, draws);
    projector.to_intensities(target);
  }
  for (std::size_t i = 0; i < target.size(); ++i) {
    const auto gain =
        is_training_ ? static_cast<float>(draw.gains[i / projector.pixels_of_view()]) : 1.0F;
    target[i] = from_intensity(target[i] * gain);
  }
}

EraseSteps CtMaker::make(const StoredSample& sample, const DrawKey& key, TransformScratch&,
                         std::span<std::byte* const> targets) const {
  const Parts parts = parts_of(sample);
  base::Philox draws(key.seed, base::DrawPurpose::kAugmentation, key.epoch, key.position);
  CtDraw draw;
  if (is_training_)
    draw = draw_augmentation(config_.augment, config_.geometry.angles.size(), draws);
  std::vector<float> hu;
  if (is_training_ && config_.augment.moves()) {
    const volume::CubeGrid grid{.side = static_cast<int>(side_), .fov_mm = parts.fov_mm};
    hu = volume::move_cube(parts.cube, grid, draw.motion, kAirHu);
  } else if (parts.intensities == nullptr) {
    hu.assign(parts.cube.begin(), parts.cube.end());
  }
  const std::span<float> voxels = floats_at(targets[0], fields_[0]);
  if (hu.empty()) {
    window(parts.cube, config_.hu_window, voxels);
  } else {
    window(std::span<const float>(hu), config_.hu_window, voxels);
  }
  make_xrays(parts, hu, draw, draws, targets);
  return {};
}

}  // namespace paceline::data
