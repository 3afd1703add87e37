#include "paceline/data/sources/ct/ct_dataset.h"

#include "paceline/base/error.h"
#include "paceline/base/hash.h"
#include "paceline/base/log.h"
#include "paceline/base/text.h"
#include "paceline/data/sources/ct/ct_constants.h"
#include "paceline/data/storage/cache_folder.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include <fmt/ranges.h>

namespace paceline::data {
namespace {

namespace fs = std::filesystem;

/// Sizes of X-rays of files in any split of a folder: those of one split are not to be of files and
/// those of another projected.
bool has_xrays_anywhere(const fs::path& split_folder) {
  const fs::path folder = split_folder.parent_path();
  return std::ranges::any_of(std::array{"train", "val", "test"}, [&](const char* split) {
    return !xray_sizes_in(folder / split).empty();
  });
}

/// Which views of the files a recipe's angles are. Those of the manifest are frontal and lateral;
/// of other files only the recipe says what they show, in their order.
struct FileViews {
  std::vector<std::size_t> chosen;
  std::size_t in_files = 0;
};

FileViews views_in_files(const std::vector<double>& angles, bool is_in_manifest) {
  FileViews views{.chosen = std::vector<std::size_t>(angles.size()), .in_files = angles.size()};
  std::iota(views.chosen.begin(), views.chosen.end(), 0);
  const auto is_usual = [](double angle) { return angle == 0 || angle == 90; };
  if (!is_in_manifest || !std::ranges::all_of(angles, is_usual)) return views;
  std::ranges::transform(angles, views.chosen.begin(),
                         [](double angle) { return angle == 90 ? 1 : 0; });
  views.in_files = 2;
  return views;
}

/// Those of the files, if the recipe means them.
std::optional<NpyArray> choose_xrays(const CtConfig& config, const fs::path& split_folder,
                                     const CtSet& set) {
  if (config.xrays == XraySource::kProjected) return std::nullopt;
  if (!config.xrays && !has_xrays_anywhere(split_folder)) return std::nullopt;
  const std::vector<std::int64_t> sizes = xray_sizes_in(split_folder);
  if (sizes.empty())
    throw base::DataError(fmt::format(
        "{}: holds no xrays_SIZE.npy; prepare the scans with their X-rays, or write data.xrays: "
        "projected",
        split_folder.string()));
  const std::int64_t size = config.xray_size.value_or(sizes.back());
  if (std::ranges::find(sizes, size) == sizes.end())
    throw base::ConfigError(fmt::format(
        "data.xray_size: {} holds X-rays of {} rows and none of {}: choose one of these, or write "
        "data.xrays: projected",
        split_folder.string(), fmt::join(sizes, ", "), size));
  if (config.augment.moves())
    throw base::ConfigError(fmt::format(
        "data.augment: moves patients, whose views have to be projected anew, but the X-rays "
        "are those of {}: write data.xrays: projected, or leave flip, turn_degrees, shift_mm and "
        "scale out",
        (split_folder / fmt::format("xrays_{}.npy", size)).string()));
  return open_xrays(split_folder, size, set.patients.size(),
                    views_in_files(config.geometry.angles, size == set.xray_size).in_files);
}

std::span<const float> as_floats(std::span<const std::int16_t> cube, std::vector<float>& buffer) {
  buffer.assign(cube.begin(), cube.end());
  return buffer;
}

/// The largest number of blocks that a side can be divided into, if it is about as many as are
/// enough to see how an image lies; else the side.
std::int64_t coarse_side(std::int64_t side) {
  constexpr std::int64_t kEnough = 64;
  for (std::int64_t blocks = std::min(side, kEnough); blocks > kEnough / 2; --blocks) {
    if (side % blocks == 0) return blocks;
  }
  return side;
}

/// Means of blocks of an array of three dimensions. What lies below -1000 counts as -1000: as air
/// where these are Hounsfield units.
template <class Value>
std::vector<float> block_means(std::span<const Value> values,
                               const std::array<std::int64_t, 3>& shape,
                               const std::array<std::int64_t, 3>& block) {
  const std::array<std::int64_t, 3> blocks{shape[0] / block[0], shape[1] / block[1],
                                           shape[2] / block[2]};
  std::vector<float> means(static_cast<std::size_t>(blocks[0] * blocks[1] * blocks[2]));
  const float weight = 1 / static_cast<float>(block[0] * block[1] * block[2]);
  const Value* value = values.data();
  for (std::int64_t i = 0; i < shape[0]; ++i) {
    for (std::int64_t j = 0; j < shape[1]; ++j) {
      const std::int64_t row = (i / block[0] * blocks[1] + j / block[1]) * blocks[2];
      for (std::int64_t k = 0; k < shape[2]; ++k, ++value)
        means[static_cast<std::size_t>(row + k / block[2])] +=
            weight * std::max(-1000.0F, static_cast<float>(*value));
    }
  }
  return means;
}

std::string_view as_text(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};  // NOLINT: to be hashed
}

}  // namespace

CtDataset::CtDataset(const fs::path& folder, std::string_view split, const CtConfig& config,
                     bool has_xrays)
    : split_folder_(folder / split),
      set_(open_ct_set(folder, split, config.side)),
      xrays_(choose_xrays(config, split_folder_, set_)),
      file_views_(views_in_files(config.geometry.angles, are_xrays_known()).chosen),
      projector_(config, xrays_ ? xrays_->shape.back() : config.xray_size.value_or(kUsualXraySize),
                 set_.fov_mm),
      constants_(ct_constants(config, set_.fov_mm)),
      fields_{{std::string(kVolumeField), FieldType::kInt16, {set_.side, set_.side, set_.side}}},
      is_cube_checked_(set_.patients.size()),
      are_xrays_checked_(set_.patients.size()) {
  if (has_xrays) {
    const auto views = static_cast<std::int64_t>(projector_.num_views());
    fields_.push_back({std::string(kXraysField),
                       FieldType::kFloat32,
                       {views, projector_.size(), projector_.size()}});
    if (config.cache_in_memory && !xrays_) open_cache(*config.cache_in_memory);
  }
  fields_.push_back({.name = std::string(kFovField), .type = FieldType::kFloat64});
}

void CtDataset::open_cache(const std::string& bound) {
  const fs::path cache = user_cache();
  if (cache.empty())
    throw base::ConfigError(
        "data.cache_in_memory: there is no place for it without a home folder: set "
        "XDG_CACHE_HOME");
  const std::uint64_t room = parse_byte_size(bound).value_or(0);
  const std::uint64_t own = projector_.num_pixels() * sizeof(float);
  const std::uint64_t least = ByteCache::least_room_for(own);
  if (room < least)
    throw base::ConfigError(fmt::format(
        "data.cache_in_memory: is {}, expected {} or more, as the X-rays of a patient take {}",
        bound, base::format_bytes(least), base::format_bytes(own)));
  const std::uint64_t all = own * set_.patients.size();
  if (all > room / 2)
    base::log_warning(
        "data.cache_in_memory: X-rays of {} patients take {}, and {} may not hold them all: give "
        "{}, or some are projected again and again",
        set_.patients.size(), base::format_bytes(all), bound, base::format_bytes(2 * all));
  cache_ = std::make_unique<ByteCache>(cache / "ct-xrays", room);
}

std::span<const std::uint8_t> CtDataset::bytes_of(const NpyArray& array, std::int64_t index) const {
  if (!array.owner->is_whole())
    throw base::DataError(fmt::format(
        "{}: the file has become shorter since it was opened; prepare it again", array.name));
  const std::size_t size = array.bytes.size() / set_.patients.size();
  return array.bytes.subspan(static_cast<std::size_t>(index) * size, size);
}

void CtDataset::check(const NpyArray& array, std::int64_t index, const std::string& hash,
                      std::vector<std::atomic<bool>>& is_checked) const {
  const auto bytes = bytes_of(array, index);
  auto& is_known = is_checked[static_cast<std::size_t>(index)];
  if (is_known.load(std::memory_order_relaxed)) return;
  if (base::xxh3_128_hex(as_text(bytes)) != hash)
    throw base::DataError(fmt::format(
        "{}: what it holds of patient {} has another checksum than in {}: run `paceline data "
        "prepare ct` again, which makes anew what is damaged",
        array.name, patient(index).code, kCtManifestName));
  is_known.store(true, std::memory_order_relaxed);
}

std::span<const std::int16_t> CtDataset::cube(std::int64_t index) const {
  check(set_.cubes, index, patient(index).cube_hash, is_cube_checked_);
  const auto bytes = bytes_of(set_.cubes, index);
  // The header of a .npy file is as long as keeps its values aligned.
  return {reinterpret_cast<const std::int16_t*>(bytes.data()),  // NOLINT
          bytes.size() / sizeof(std::int16_t)};
}

void CtDataset::project(std::int64_t index, std::span<float> integrals) const {
  const std::span target(reinterpret_cast<std::uint8_t*>(integrals.data()),  // NOLINT
                         integrals.size_bytes());
  // What the cube holds is part of the key, so that nothing old is taken for it.
  const std::string key = patient(index).cube_hash + ", " + projector_.key();
  if (cache_ && cache_->get(key, target)) return;
  std::vector<float> buffer;
  projector_.integrate(as_floats(cube(index), buffer), set_.side, integrals);
  if (cache_) cache_->put(key, target);
}

void CtDataset::read_intensities(std::int64_t index, std::span<float> target) const {
  if (!xrays_) {
    project(index, target);
    projector_.to_intensities(target);
    return;
  }
  if (are_xrays_known()) check(*xrays_, index, patient(index).xray_hash, are_xrays_checked_);
  const auto bytes = bytes_of(*xrays_, index);
  const std::size_t pixels = projector_.pixels_of_view();
  for (std::size_t i = 0; i < target.size(); ++i) {
    const std::size_t source = file_views_[i / pixels] * pixels + i % pixels;
    std::uint16_t value = 0;
    std::memcpy(&value, bytes.data() + source * sizeof value, sizeof value);
    target[i] = static_cast<float>(value) / 65535.0F;
  }
}

void CtDataset::get(std::int64_t index, StoredSample& sample) const {
  sample.width = 0;
  sample.height = 0;
  sample.label = 0;
  sample.bytes.resize(sample_bytes(fields_));
  std::uint8_t* target = sample.bytes.data();
  const auto put = [&](const void* values, std::size_t bytes) {
    std::memcpy(target, values, bytes);
    target += bytes;
  };
  const auto voxels = cube(index);
  put(voxels.data(), voxels.size_bytes());
  if (has_xrays()) {
    std::vector<float> intensities(projector_.num_pixels());
    read_intensities(index, intensities);
    put(intensities.data(), intensities.size() * sizeof(float));
  }
  put(&set_.fov_mm, sizeof set_.fov_mm);
}

std::string CtDataset::describe(std::int64_t index) const {
  return fmt::format("{}: patient {}", split_folder_.string(), patient(index).code);
}

bool CtDataset::are_xrays_known() const { return xrays_ && xrays_->shape.back() == set_.xray_size; }

std::string CtDataset::fingerprint() const {
  constexpr std::size_t kMostBytes = 4096;  // of a view: its middle, as its border may be black
  base::Xxh3Stream hash;
  for (const FieldSpec& field : fields_) hash.update(data::describe(field));
  hash.update(xrays_ ? fmt::format("files {}", fmt::join(file_views_, ",")) : projector_.key());
  for (std::int64_t index = 0; index < size(); ++index) {
    hash.update(patient(index).code);
    hash.update(patient(index).cube_hash);
    if (!xrays_) continue;
    if (are_xrays_known()) {
      hash.update(patient(index).xray_hash);
      continue;
    }
    const auto bytes = bytes_of(*xrays_, index);
    const std::size_t view_bytes = projector_.pixels_of_view() * sizeof(std::uint16_t);
    const std::size_t count = std::min(view_bytes, kMostBytes);
    for (std::size_t begin = 0; begin < bytes.size(); begin += view_bytes)
      hash.update(as_text(bytes.subspan(begin + (view_bytes - count) / 2, count)));
  }
  return fmt::format("ct:{}:{}:{:016x}", size(), set_.side, hash.digest());
}

volume::Affine CtDataset::affine(std::int64_t index) const {
  return affine_of_side(patient(index).affine, set_.largest_side, set_.side);
}

XrayPair CtDataset::coarse_xrays(std::int64_t index) const {
  if (!xrays_)
    throw base::ConfigError(
        "the X-rays are projected of the volumes: there is nothing that could be misplaced");
  std::vector<float> intensities(projector_.num_pixels());
  read_intensities(index, intensities);
  const auto views = static_cast<std::int64_t>(projector_.num_views());
  const std::int64_t size = coarse_side(projector_.size());
  const std::int64_t side = coarse_side(set_.side);
  XrayPair pair{.side = size,
                .given = block_means(std::span<const float>(intensities),
                                     {views, projector_.size(), projector_.size()},
                                     {1, projector_.size() / size, projector_.size() / size}),
                .projected = {}};
  const std::int64_t block = set_.side / side;
  const auto coarse =
      block_means(cube(index), {set_.side, set_.side, set_.side}, {block, block, block});
  const CtProjector projector = projector_.with_size(size);
  pair.projected.resize(projector.num_pixels());
  projector.integrate(coarse, side, pair.projected);
  projector.to_intensities(pair.projected);  // as far as those of the files can show it
  return pair;
}

std::vector<volume::ViewAlignment> CtDataset::alignment_of(const XrayPair& pair) const {
  const auto side = static_cast<int>(pair.side);
  return volume::compare_views(pair.given, pair.projected, projector_.num_views(), {side, side});
}

}  // namespace paceline::data
