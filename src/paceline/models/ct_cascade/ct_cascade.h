#pragma once

#include "paceline/config/schema.h"
#include "paceline/models/ct_cascade/volume_denoiser.h"
#include "paceline/models/fields/fused_mode.h"
#include "paceline/nn/volume/cascade_network.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

namespace paceline::models {

/// From where an X-ray is taken.
enum class XrayView {
  kFrontal,  ///< 0 degrees of volume::ProjectionGeometry
  kLateral,  ///< 90 degrees
};

struct CascadeStageConfig {
  std::int64_t volume_size = 64;
  std::int64_t patch = 4;
  std::int64_t dim = 256;
  std::int64_t depth = 4;
  std::int64_t heads = 4;
};

struct CtCascadeConfig {
  std::vector<CascadeStageConfig> stages = {
      {64, 4, 256, 4, 4}, {128, 8, 384, 6, 6}, {256, 16, 512, 8, 8}};
  std::optional<std::int64_t> num_stages = {};  ///< how many of them there are; nothing: all
  std::int64_t xray_size = 512;
  std::int64_t num_views = 2;
  std::vector<XrayView> view_types = {XrayView::kFrontal, XrayView::kLateral};
  std::vector<double> view_angles = {};  ///< in degrees, in place of view_types; empty: theirs
  bool share_view_weights = false;
  std::int64_t xray_pool = 1;
  std::int64_t xray_dim = 512;
  double fov_mm = 400;
  std::optional<double> source_to_isocentre_mm = {};  ///< nothing: parallel beams
  std::optional<double> source_to_detector_mm = {};
  FusedMode fused = FusedMode::kAuto;
};

/// The views' angles and the beam.
volume::ProjectionGeometry cascade_geometry(const CtCascadeConfig& config);

/// A cascade of diffusion transformers from X-rays to a CT volume. Each stage has an encoder of its
/// own, so that it may be trained while the ones before rest. Names: stages.N of each stage, as
/// VolumeDenoiser's. Papers: Peebles and Xie, "Scalable diffusion models with transformers", 2023;
/// Ho et al., "Cascaded diffusion models for high fidelity image generation", 2022.
class CtCascade : public nn::CascadeNetwork {
 public:
  /// Throws ConfigError when sizes do not divide or views do not fit.
  explicit CtCascade(const CtCascadeConfig& config);

  std::int64_t num_stages() const override { return std::ssize(stages_); }
  nn::CascadeStage stage(std::int64_t number) const override;
  const volume::ProjectionGeometry& geometry() const override { return geometry_; }
  nn::XrayContext encode(std::int64_t stage, const at::Tensor& xrays) const override;
  at::Tensor denoise(std::int64_t stage, const nn::NoisyVolumes& volumes,
                     const nn::XrayContext& context) const override;
  void initialize_parameter(const nn::NamedTensor& parameter,
                            const tensor::DrawKey& key) const override;
  std::vector<std::int64_t> xray_sizes() const override {
    return {config_.num_views, config_.xray_size, config_.xray_size};
  }
  nn::Shaped shaped_forward(nn::ShapedPass& pass) const override;
  /// Of the current stage. Throws ConfigError unless there are X-rays of the sizes it takes.
  double flops_per_sample(const nn::SampleSizes& sizes) const override;
  /// Counts a stage's layers for one sample.
  void count(std::int64_t stage, nn::LayerCosts& costs) const;

 private:
  const VolumeDenoiser& at(std::int64_t stage) const {
    return *stages_.at(static_cast<std::size_t>(stage));
  }

  CtCascadeConfig config_;
  volume::ProjectionGeometry geometry_;
  std::vector<std::shared_ptr<VolumeDenoiser>> stages_;  ///< that there are
};

std::unique_ptr<nn::Network> make(const CtCascadeConfig& config);

}  // namespace paceline::models

template <>
struct paceline::config::EnumNames<paceline::models::XrayView> {
  static constexpr std::array names{
      EnumName{paceline::models::XrayView::kFrontal, "frontal"},
      EnumName{paceline::models::XrayView::kLateral, "lateral"},
  };
};

template <>
struct paceline::config::Schema<paceline::models::CascadeStageConfig> {
  using T = paceline::models::CascadeStageConfig;
  static constexpr std::string_view name = "stage";
  static constexpr std::string_view summary = "One stage of a cascade.";
  static constexpr auto fields = std::tuple{
      field(&T::volume_size, "volume_size", "Voxels a side of the cube that it makes.", AtLeast{1},
            AtMost{4096, "no volume has a longer side"}),
      field(&T::patch, "patch", "Voxels a side of the cube that a token stands for.", AtLeast{1},
            AtMost{4096, "no volume has a longer side"}),
      field(&T::dim, "dim", "Width of a token.", AtLeast{1}, AtMost{65536, "no model is wider"}),
      field(&T::depth, "depth", "Number of blocks.", AtLeast{1},
            AtMost{1000, "no model is deeper"}),
      field(&T::heads, "heads", "Attention heads per block.", AtLeast{1},
            AtMost{65536, "no model is wider"})};
  static void validate(const T& config, Problems& problems);
};

template <>
struct paceline::config::Schema<paceline::models::CtCascadeConfig> {
  using T = paceline::models::CtCascadeConfig;
  static constexpr std::string_view name = "ct_cascade";
  static constexpr std::string_view summary =
      "Cascade of diffusion transformers from X-rays to a CT volume.";
  static constexpr std::string_view paper =
      "Peebles and Xie, Scalable diffusion models with transformers, 2023";
  static constexpr auto fields = std::tuple{
      field(&T::stages, "stages",
            "Of each stage volume_size, patch, dim, depth and heads; each makes the volume of the "
            "one before finer.",
            NotEmpty{}),
      field(&T::num_stages, "num_stages",
            "How many of `stages` there are, from the first on; the last of these is trained and "
            "the others rest. null: all.",
            AtLeast{1}, AtMost{64, "no cascade is longer"}),
      field(&T::xray_size, "xray_size", "Pixels a side of an X-ray, a multiple of 8 * xray_pool.",
            AtLeast{8}, AtMost{16384, "no image has a longer side"}),
      field(&T::num_views, "num_views", "X-rays of a patient.", AtLeast{1},
            AtMost{64, "no patient has more"}),
      field(&T::view_types, "view_types", "Which view each X-ray is: frontal or lateral."),
      field(&T::view_angles, "view_angles",
            "Angles of the views in degrees instead of view_types: 0 is frontal, 90 lateral; "
            "empty: those of view_types.",
            InRange{-360, 360}),
      field(&T::share_view_weights, "share_view_weights",
            "One encoder and depth lift for all views, instead of one for each."),
      field(&T::xray_pool, "xray_pool",
            "Features a side of which an X-ray token is the mean: 1, or 2 for a quarter of the "
            "tokens.",
            InRange{1, 2}),
      field(&T::xray_dim, "xray_dim", "Channels of an X-ray's features, a multiple of 64.",
            AtLeast{64}, AtMost{65536, "no model is wider"}),
      field(&T::fov_mm, "fov_mm", "Side of the cube in millimetres, which cone beams need.",
            MoreThan{0}, AtMost{10000, "no scanner sees more"}),
      field(&T::source_to_isocentre_mm, "source_to_isocentre_mm",
            "Cone beams from a source so far away; null: parallel beams.", MoreThan{0},
            AtMost{100000, "no source is further away"}),
      field(&T::source_to_detector_mm, "source_to_detector_mm",
            "With source_to_isocentre_mm: from the source to the detector.", MoreThan{0},
            AtMost{100000, "no detector is further away"}),
      models::fused_field<T>()};
  static void validate(const T& config, Problems& problems);
};
