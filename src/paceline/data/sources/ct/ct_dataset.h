#pragma once

#include "paceline/data/dataset/dataset.h"
#include "paceline/data/sources/ct/ct_config.h"
#include "paceline/data/sources/ct/ct_projector.h"
#include "paceline/data/sources/ct/ct_set.h"
#include "paceline/data/storage/byte_cache.h"
#include "paceline/volume/view_alignment.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::data {

/// The stored fields of a patient: the volume in Hounsfield units, int16 [side, side, side] in z, y
/// and x; X-rays as intensities from 0 to 1, float32 [views, size, size], unless they have to be
/// projected of a moved patient; the cube's side in millimetres, a float64.
inline constexpr std::string_view kVolumeField = "volume";
inline constexpr std::string_view kXraysField = "xrays";
inline constexpr std::string_view kFovField = "fov_mm";

/// X-rays twice, as intensities [views, side, side] on a grid that is coarse enough to be projected
/// at once.
struct XrayPair {
  std::int64_t side = 0;  ///< 64 or a bit less where that divides the size of the X-rays
  std::vector<float> given;
  std::vector<float> projected;
};

/// Patients of a split with their X-rays, unaugmented. Volumes are mapped; projections are kept in
/// a cache that all processes of this machine share, if there is one.
class CtDataset final : public Dataset {
 public:
  /// `has_xrays`: whether samples hold X-rays. Throws as open_ct_set(), open_xrays() and
  /// CtProjector(); ConfigError for X-rays of a size that is not there, for files where patients
  /// are moved, for a cache that is too small.
  CtDataset(const std::filesystem::path& folder, std::string_view split, const CtConfig& config,
            bool has_xrays);

  std::int64_t size() const override { return std::ssize(set_.patients); }
  /// Throws DataError for a cube, or X-rays, without the manifest's checksum; each is looked at
  /// when it is read first.
  void get(std::int64_t index, StoredSample& sample) const override;
  std::vector<FieldSpec> stored_fields() const override { return fields_; }
  /// ct_constants().
  SampleConstants constants() const override { return constants_; }
  std::string name(std::int64_t index) const override { return patient(index).code; }
  std::string describe(std::int64_t index) const override;
  /// Of codes and checksums of the patients, and how X-rays come about; of those of files of
  /// another size than the manifest's, a part of each view.
  std::string fingerprint() const override;

  const CtProjector& projector() const { return projector_; }
  double fov_mm() const { return set_.fov_mm; }
  std::int64_t side() const { return set_.side; }
  /// Whether samples hold X-rays.
  bool has_xrays() const { return fields_.size() == 3; }
  bool has_xray_files() const { return xrays_.has_value(); }
  const std::filesystem::path& folder() const { return split_folder_; }
  const std::string& cube_hash(std::int64_t index) const { return patient(index).cube_hash; }
  /// Of voxel (x, y, z) of this side.
  volume::Affine affine(std::int64_t index) const;
  /// A patient's X-rays of files, and projections of the volume. Throws ConfigError if the former
  /// are none.
  XrayPair coarse_xrays(std::int64_t index) const;
  /// How the ones lie against the others.
  std::vector<volume::ViewAlignment> alignment_of(const XrayPair& pair) const;
  std::vector<volume::ViewAlignment> alignment(std::int64_t index) const {
    return alignment_of(coarse_xrays(index));
  }

 private:
  const CtSetPatient& patient(std::int64_t index) const {
    return set_.patients[static_cast<std::size_t>(index)];
  }
  /// Whether they are files of which the manifest has checksums.
  bool are_xrays_known() const;
  std::span<const std::uint8_t> bytes_of(const NpyArray& array, std::int64_t index) const;
  std::span<const std::int16_t> cube(std::int64_t index) const;
  /// Throws DataError unless a patient's part of an array has this checksum; looks once.
  void check(const NpyArray& array, std::int64_t index, const std::string& hash,
             std::vector<std::atomic<bool>>& is_checked) const;
  void open_cache(const std::string& bound);
  void read_intensities(std::int64_t index, std::span<float> target) const;
  void project(std::int64_t index, std::span<float> integrals) const;

  std::filesystem::path split_folder_;
  CtSet set_;
  std::optional<NpyArray> xrays_;        ///< nothing: they are projected
  std::vector<std::size_t> file_views_;  ///< of those in xrays_, which each of the recipe's is
  CtProjector projector_;
  SampleConstants constants_;
  std::vector<FieldSpec> fields_;
  std::unique_ptr<ByteCache> cache_;  ///< null: nothing is kept
  mutable std::vector<std::atomic<bool>> is_cube_checked_;
  mutable std::vector<std::atomic<bool>> are_xrays_checked_;
};

}  // namespace paceline::data
