#pragma once

#include "paceline/config/schema.h"
#include "paceline/volume/projector.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace paceline::data {

/// Where the X-rays of a patient come from.
enum class XraySource {
  kFiles,      ///< the array xrays_SIZE.npy beside the volumes
  kProjected,  ///< of the volume at hand
};

/// The patients that runs evaluate.
enum class CtEvaluation { kVal, kTest };

struct CtGeometryConfig {
  std::vector<double> angles = {0, 90};
  std::optional<double> source_to_isocentre_mm = {};
  std::optional<double> source_to_detector_mm = {};
};

struct CtAugmentationConfig {
  bool flip = false;
  double turn_degrees = 0;
  double shift_mm = 0;
  std::array<double, 2> scale = {1, 1};
  std::array<double, 2> gain = {1, 1};
  std::optional<double> photons = {};

  /// Whether it moves the patient, so that views have to be projected anew.
  bool moves() const {
    return flip || turn_degrees > 0 || shift_mm > 0 || scale != std::array<double, 2>{1, 1};
  }
  /// Whether X-rays show something else than projections of the volume.
  bool changes_xrays() const { return photons || gain != std::array<double, 2>{1, 1}; }
};

struct CtConfig {
  std::string path = {};
  std::optional<std::int64_t> side = {};
  CtEvaluation val_folder = CtEvaluation::kVal;
  std::array<double, 2> hu_window = {-1000, 3000};
  std::optional<XraySource> xrays = {};
  std::optional<std::int64_t> xray_size = {};
  volume::RayMethod projector = volume::RayMethod::kTrilinear;
  CtGeometryConfig geometry = {};
  double full_scale = 3;
  CtAugmentationConfig augment = {};
  std::optional<std::string> cache_in_memory = {};
  bool validate_alignment = true;
};

/// Rows of X-rays that are projected.
inline constexpr std::int64_t kUsualXraySize = 512;

/// Bytes of "8GiB", "500 MB" or "1048576"; nothing for what is no size.
std::optional<std::uint64_t> parse_byte_size(std::string_view text);

}  // namespace paceline::data

template <>
struct paceline::config::EnumNames<paceline::data::XraySource> {
  static constexpr std::array names{EnumName{data::XraySource::kFiles, "files"},
                                    EnumName{data::XraySource::kProjected, "projected"}};
};

template <>
struct paceline::config::EnumNames<paceline::data::CtEvaluation> {
  static constexpr std::array names{EnumName{data::CtEvaluation::kVal, "val"},
                                    EnumName{data::CtEvaluation::kTest, "test"}};
};

template <>
struct paceline::config::EnumNames<paceline::volume::RayMethod> {
  static constexpr std::array names{EnumName{volume::RayMethod::kTrilinear, "trilinear"},
                                    EnumName{volume::RayMethod::kSiddon, "siddon"}};
};

template <>
struct paceline::config::Schema<paceline::data::CtGeometryConfig> {
  using Config = data::CtGeometryConfig;
  static constexpr std::string_view name = "geometry";
  static constexpr std::string_view summary = "How X-rays pass a patient.";
  static constexpr auto fields = std::tuple{
      field(&Config::angles, "angles",
            "Of each view, in degrees: 0 is frontal, 90 lateral, with the source at the patient's "
            "left.",
            NotEmpty{}, InRange{-360, 360}),
      field(&Config::source_to_isocentre_mm, "source_to_isocentre_mm",
            "From the source to the middle of the cube; null: parallel beams.", MoreThan{0},
            AtMost{1e6, "such beams are parallel: leave it out"}),
      field(&Config::source_to_detector_mm, "source_to_detector_mm",
            "From the source to the detector behind the patient.", MoreThan{0},
            AtMost{1e6, "such beams are parallel: leave it out"})};
  static void validate(const Config& values, Problems& problems);
};

template <>
struct paceline::config::Schema<paceline::data::CtAugmentationConfig> {
  using Config = data::CtAugmentationConfig;
  static constexpr std::string_view name = "augment";
  static constexpr std::string_view summary =
      "What training draws anew for each sample and epoch; evaluations never do.";
  static constexpr auto fields = std::tuple{
      field(&Config::flip, "flip", "Whether every other patient is mirrored from left to right."),
      field(&Config::turn_degrees, "turn_degrees",
            "Most that a patient is turned around the body's long axis, to both sides.",
            InRange{0, 180}),
      field(&Config::shift_mm, "shift_mm", "Most that a patient is shifted along each axis.",
            InRange{0, 10000}),
      field(&Config::scale, "scale", "Smallest and largest size of a patient; 1 is the own one.",
            InRange{0.1, 10}),
      field(&Config::gain, "gain",
            "Lowest and highest factor of an X-ray's intensities, of each view another one.",
            MoreThan{0}, AtMost{10, "nothing is left of an image"}),
      field(&Config::photons, "photons",
            "Photons that reach a pixel through air, for Poisson's noise as if at 60 keV; null: no "
            "noise.",
            AtLeast{1}, AtMost{1e12, "there is no noise left"})};
  static void validate(const Config& values, Problems& problems);
};

template <>
struct paceline::config::Schema<paceline::data::CtConfig> {
  using Config = data::CtConfig;
  static constexpr std::string_view name = "ct";
  static constexpr std::string_view summary =
      "Volumes that `paceline data prepare ct` made, and X-rays of them.";
  static constexpr std::string_view paper = "";
  static constexpr auto fields = std::tuple{
      field(&Config::path, "path", "The folder that was prepared.", Path{}, MayChangeOnResume{}),
      field(&Config::side, "side",
            "Which of the volumes that were made: voxels a side; null: the largest.",
            InRange{1, 1024}),
      field(&Config::val_folder, "val_folder", "Which patients evaluations see."),
      field(&Config::hu_window, "hu_window",
            "Hounsfield units that become -1 and 1; what lies outside is clamped.",
            InRange{-32768, 32767}),
      field(&Config::xrays, "xrays",
            "files: those of xrays_SIZE.npy; projected: of the volume; null: files where there are "
            "some."),
      field(&Config::xray_size, "xray_size",
            "Rows and columns of an X-ray; null: those of the files, else 512.", InRange{1, 4096}),
      field(&Config::projector, "projector",
            "How integrals along rays follow from voxels; trilinear: at steps of half a voxel."),
      field(&Config::geometry, "geometry", "How X-rays pass a patient."),
      field(&Config::full_scale, "full_scale",
            "The integral that becomes the intensity 1; 1 is a way through water as long as the "
            "cube's side.",
            MoreThan{0}, AtMost{1000, "all X-rays are dark"}),
      field(&Config::augment, "augment",
            "What training draws: one motion for volume and views, which are projected anew; gain "
            "and noise for X-rays alone."),
      field(&Config::cache_in_memory, "cache_in_memory",
            "Room, as 8GiB, for projected X-rays of patients as they are, which all ranks and runs "
            "of a machine share; null: they are projected each time.",
            MayChangeOnResume{}),
      field(&Config::validate_alignment, "validate_alignment",
            "Compare X-rays of files with projections of the volumes of up to 64 patients of each "
            "split before the first step: views that are swapped, mirrored, upside down or "
            "inverted are an error.",
            MayChangeOnResume{})};
  static void validate(const Config& values, Problems& problems);
};
