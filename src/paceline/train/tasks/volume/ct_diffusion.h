#pragma once

#include "paceline/nn/diffusion/noise_schedule.h"
#include "paceline/nn/volume/cascade_network.h"
#include "paceline/nn/volume/cascade_sampling.h"
#include "paceline/nn/volume/projection_loss.h"
#include "paceline/train/shaped_task.h"
#include "paceline/train/task.h"
#include "paceline/train/tasks/volume/ct_diffusion_config.h"
#include "paceline/train/tasks/volume/volume_sums.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace paceline::train {

// Fields of a batch: X-rays [size, views, H, W] and, but for predictions, the true volumes [size,
// side, side, side], both in [-1, 1].
inline constexpr std::string_view kVolume = "volume";
inline constexpr std::string_view kXrays = nn::CascadeNetwork::kXrays;

// Fields that predict() gives, in Hounsfield units.
inline constexpr std::string_view kSamples = "samples";  ///< [size, samples, side, side, side]
inline constexpr std::string_view kMean = "mean";        ///< of them, [size, side, side, side]
/// Their standard deviation, by samples - 1; zeros of one sample.
inline constexpr std::string_view kDeviation = "deviation";

// Fields that evaluate() gives out besides PatientRecorder::kQualities: volumes of the last stage
// in
// [-1, 1].
inline constexpr std::string_view kFirstSample = "first_sample";
inline constexpr std::string_view kMeanVolume = "mean_volume";
inline constexpr std::string_view kDeviationVolume = "deviation_volume";

/// Learns the last stage of a cascade, and evaluates by volumes that all stages draw.
///
/// Training: x_t of the true volume at a drawn step; a stage behind another sees the true volume at
/// that one's resolution with noise of a drawn level. The network tells x_0, by which v follows;
/// the loss is its squared error with min-SNR weights, averaged over voxels, and what a
/// nn::ProjectionLoss has against x_0, times physics_weight and what noise has left of the volume
/// at that step. Papers: Salimans and Ho, 2022 (v); Hang et al., 2023 (min-SNR); Ho et al., 2022
/// (cascades).
class CtDiffusion final : public Task, public ShapedTask {
 public:
  CtDiffusion(std::shared_ptr<nn::CascadeNetwork> network, const CtDiffusionConfig& config);

  void check_samples(const SampleFacts& samples) const override;
  /// Those of ct_constants.h in the module data.
  void take_constants(const data::SampleConstants& constants) override;
  tensor::Fields forward(const Batch& batch, const nn::ForwardContext& context) override;
  at::Tensor loss(const tensor::Fields& outputs, const Batch& batch) override;
  std::span<const Metric> metrics() const override { return sums_.metrics(); }
  std::int64_t num_sums() const override { return sums_.count(); }
  at::Tensor sums(const tensor::Fields& outputs, const Batch& batch) override;
  Evaluated evaluate(const Batch& batch, const nn::ForwardContext& context) override;
  tensor::Fields predict(const Batch& batch, const nn::ForwardContext& context) override;
  bool evaluates_freely() const override { return true; }
  /// Of the batch's first patient: slices_picture() and xrays_picture(), the latter of the mean.
  std::vector<metrics::Picture> pictures(const tensor::Fields& outputs,
                                         const Batch& batch) const override;
  /// The same of a patient of predict(): its kMean and kDeviation, the batch's kXrays, and kVolume
  /// where the truth is known.
  std::vector<metrics::Picture> pictures_of_prediction(const tensor::Fields& patient) const;
  std::vector<data::FieldSpec> sample_fields() const override;
  std::int64_t pass_bytes(const nn::PassOptions& options) const override;
  std::optional<PublishedTraining> published() const override;

  /// What the loss of each sample is made of, [N].
  struct LossParts {
    at::Tensor diffusion;
    at::Tensor physics;  ///< without its weight, and without gradients where that is 0
  };
  /// Of what the network takes volumes to be at these steps of the diffusion.
  LossParts loss_parts(const at::Tensor& made, const at::Tensor& steps, const Batch& batch) const;

  /// Of the columns of PatientRecorder::kQualities.
  std::vector<std::string> quality_names() const { return sums_.quality_names(); }
  const nn::VolumeUnits& units() const { return units_; }
  const CtDiffusionConfig& config() const { return config_; }

 private:
  /// Volumes [N, side, side, side] of each sample, by stage.
  using Drawn = std::vector<std::vector<at::Tensor>>;

  std::int64_t last_stage() const { return cascade_->num_stages() - 1; }
  metrics::Picture picture_of_xrays(const at::Tensor& volume, const at::Tensor& xrays) const;
  Drawn draw(const Batch& batch, const nn::ForwardContext& context) const;
  const nn::ProjectionLoss& projection(std::int64_t stage, std::int64_t xray_size) const;
  VolumeQuality quality_of(const at::Tensor& volumes, std::int64_t stage, const Batch& batch) const;

  std::shared_ptr<nn::CascadeNetwork> cascade_;
  CtDiffusionConfig config_;
  nn::NoiseSchedule schedule_;
  nn::VolumeUnits units_;
  double fov_mm_ = 400;
  volume::RayMethod ray_method_ = volume::RayMethod::kTrilinear;
  VolumeSums sums_;
  /// By stage, made when it is first asked for.
  mutable std::map<std::int64_t, nn::ProjectionLoss> projections_;
};

std::unique_ptr<Task> make(const CtDiffusionConfig& config, TaskParts& parts);

}  // namespace paceline::train
