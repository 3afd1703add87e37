#include "paceline/train/tasks/volume/ct_diffusion.h"

#include "paceline/base/error.h"
#include "paceline/data/sources/ct/ct_constants.h"
#include "paceline/metrics/volume_quality.h"
#include "paceline/nn/diffusion/sample_draws.h"
#include "paceline/nn/network_parts.h"
#include "paceline/nn/volume/conditioning_augmentation.h"
#include "paceline/train/tasks/volume/ct_pass_memory.h"
#include "paceline/train/tasks/volume/patient_records.h"
#include "paceline/train/tasks/volume/volume_pictures.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/ranges.h>

namespace paceline::train {
namespace {

constexpr double kRange = 2;              // of values in [-1, 1]
constexpr std::int64_t kSsimWindow = 11;  // voxels, of metrics::ssim()

// What forward() gives of each sample, beside the parts of its loss.
constexpr const char* kMade = "made";
constexpr const char* kSteps = "steps";
constexpr const char* kDiffusionPart = "diffusion";
constexpr const char* kPhysicsPart = "physics";

/// Which steps volumes are trained at, int64 [size] beside them.
at::Tensor drawn_steps(const at::Tensor& volumes, std::int64_t num_steps,
                       const nn::ForwardContext& context) {
  const at::Tensor drawn = nn::drawn_uniforms(volumes, nn::DiffusionDraw::kStep, context);
  return (drawn * static_cast<double>(num_steps)).floor().to(at::kLong);
}

/// Volumes of another side, each voxel the mean of those that it stands for.
at::Tensor at_side(const at::Tensor& volumes, std::int64_t side) {
  if (volumes.size(1) == side) return volumes;
  const std::int64_t factor = volumes.size(1) / side;
  return at::avg_pool3d(volumes.unsqueeze(1), factor).squeeze(1);
}

const std::vector<double>& constant(const data::SampleConstants& constants, std::string_view name) {
  const auto found = constants.find(name);
  if (found != constants.end()) return found->second;
  throw base::ConfigError(
      fmt::format("task ct_diffusion needs data that say their {}, as those of data ct do", name));
}

void check_geometry(const volume::ProjectionGeometry& geometry,
                    const data::SampleConstants& constants) {
  const auto& angles = constant(constants, data::kViewAngles);
  if (angles != geometry.angles_degrees) {
    throw base::ConfigError(
        fmt::format("data.geometry.angles: the data's X-rays are taken at {} degrees, and the "
                    "network takes them for views at {} (model.view_types, view_angles): make them "
                    "the same",
                    fmt::join(angles, ", "), fmt::join(geometry.angles_degrees, ", ")));
  }
  std::vector<double> cone;
  if (geometry.cone)
    cone = {geometry.cone->source_to_isocentre_mm, geometry.cone->source_to_detector_mm};
  if (cone != constant(constants, data::kConeBeam)) {
    throw base::ConfigError(
        "data.geometry: source_to_isocentre_mm and source_to_detector_mm are others than the "
        "network's in `model`: make them the same, or leave out all of them for parallel beams");
  }
  const double fov_mm = constant(constants, data::kFovMm).at(0);
  if (geometry.cone && fov_mm != geometry.fov_mm) {
    throw base::ConfigError(fmt::format(
        "model.fov_mm: is {}, but the data's cubes are {} mm wide, on which cone beams depend: set "
        "model.fov_mm={}",
        geometry.fov_mm, fov_mm, fov_mm));
  }
}

}  // namespace

CtDiffusion::CtDiffusion(std::shared_ptr<nn::CascadeNetwork> network,
                         const CtDiffusionConfig& config)
    : Task(network),
      cascade_(std::move(network)),
      config_(config),
      schedule_(config.num_timesteps),
      sums_(cascade_->num_stages(), config.samples > 1) {
  cascade_->set_current_stage(last_stage());
  std::vector<nn::NetworkPart> before;
  for (const std::string& name : cascade_->parts_trained_before())
    before.emplace_back(*cascade_, name);
  nn::freeze(*cascade_, before);
}

void CtDiffusion::check_samples(const SampleFacts& samples) const {
  const auto found = samples.sizes.find(kVolume);
  const std::int64_t side = cascade_->stage(last_stage()).side;
  if (found == samples.sizes.end()) {
    throw base::ConfigError(
        "task ct_diffusion needs samples with a volume and X-rays: use data ct");
  }
  const std::vector<std::int64_t> wanted{side, side, side};
  if (found->second != wanted) {
    throw base::ConfigError(fmt::format(
        "data.side: the data's volumes are {}, and stage {} of the model makes {}: set "
        "data.side={}, or model.num_stages to the stage that makes such",
        fmt::join(found->second, " x "), last_stage() + 1, fmt::join(wanted, " x "), side));
  }
  for (std::int64_t i = 0; i <= last_stage(); ++i) {
    if (cascade_->stage(i).side >= kSsimWindow) continue;
    throw base::ConfigError(fmt::format(
        "model.stages: stage {} makes volumes of {} voxels a side, and SSIM, by which they are "
        "evaluated, looks through a window of {}: make them at least that large",
        i + 1, cascade_->stage(i).side, kSsimWindow));
  }
  static_cast<void>(cascade_->flops_per_sample(samples.sizes));  // throws for other X-rays
}

void CtDiffusion::take_constants(const data::SampleConstants& constants) {
  check_geometry(cascade_->geometry(), constants);
  const auto& window = constant(constants, data::kHuWindow);
  units_ = {.hu_window = {window.at(0), window.at(1)},
            .full_scale = constant(constants, data::kFullScale).at(0)};
  fov_mm_ = constant(constants, data::kFovMm).at(0);
  ray_method_ =
      static_cast<volume::RayMethod>(static_cast<int>(constant(constants, data::kRayMethod).at(0)));
  projections_.clear();
}

const nn::ProjectionLoss& CtDiffusion::projection(std::int64_t stage,
                                                  std::int64_t xray_size) const {
  const auto found = projections_.find(stage);
  if (found != projections_.end()) return found->second;
  return projections_
      .emplace(stage, nn::ProjectionLoss(cascade_->geometry(), units_, cascade_->stage(stage).side,
                                         xray_size, ray_method_))
      .first->second;
}

tensor::Fields CtDiffusion::forward(const Batch& batch, const nn::ForwardContext& context) {
  const at::Tensor& volumes = batch.fields.at(kVolume);
  const at::Tensor steps = drawn_steps(volumes, schedule_.num_steps(), context);
  const at::Tensor noise = nn::drawn_normals(volumes, nn::DiffusionDraw::kNoise, context);
  tensor::Fields inputs;
  inputs.set(kXrays, batch.fields.at(kXrays));
  inputs.set(nn::CascadeNetwork::kNoisy, nn::add_noise(schedule_, volumes, noise, steps));
  inputs.set(kSteps, steps);
  if (last_stage() > 0) {
    const at::Tensor before = at_side(volumes, cascade_->stage(last_stage()).previous_side);
    const auto condition = nn::augment_condition(before, config_.condition_noise, context);
    inputs.set(nn::CascadeNetwork::kPrevious, condition.volumes);
    inputs.set(nn::CascadeNetwork::kLevels, condition.levels);
  }
  const at::Tensor made = cascade_->forward(inputs, context);
  const LossParts parts = loss_parts(made, steps, batch);
  return {{kMade, made},
          {kSteps, steps},
          {kDiffusionPart, parts.diffusion},
          {kPhysicsPart, parts.physics}};
}

// v of the true noise minus v of what the network makes is their difference / sqrt(1 - a_t), as
// both have the same x_t.
CtDiffusion::LossParts CtDiffusion::loss_parts(const at::Tensor& made, const at::Tensor& steps,
                                               const Batch& batch) const {
  const at::Tensor kept = schedule_.kept_at(steps, 1);
  const at::Tensor weights =
      nn::velocity_weights(schedule_, steps, config_.min_snr_gamma) / (1 - kept);
  const at::Tensor errors = (made - batch.fields.at(kVolume)).square().flatten(1).mean(1);
  const at::Tensor* const clean = batch.fields.find(data::kCleanXraysField);
  const at::Tensor& xrays = clean != nullptr ? *clean : batch.fields.at(kXrays);
  const at::Tensor judged = config_.physics_weight > 0 ? made : made.detach();
  const at::Tensor physics = projection(last_stage(), xrays.size(3)).forward(judged, xrays);
  return {errors * weights.to(errors.scalar_type()), physics * kept.to(physics.scalar_type())};
}

at::Tensor CtDiffusion::loss(const tensor::Fields& outputs, const Batch& /*batch*/) {
  return (outputs.at(kDiffusionPart) + config_.physics_weight * outputs.at(kPhysicsPart)).sum();
}

at::Tensor CtDiffusion::sums(const tensor::Fields& outputs, const Batch& /*batch*/) {
  return sums_.of_loss(outputs.at(kDiffusionPart), outputs.at(kPhysicsPart));
}

CtDiffusion::Drawn CtDiffusion::draw(const Batch& batch, const nn::ForwardContext& context) const {
  const auto contexts = nn::encode_for_cascade(*cascade_, batch.fields.at(kXrays));
  const nn::CascadeSampling sampling{
      .steps = config_.sampling_steps, .spacing = config_.spacing, .level = config_.sampling_noise};
  Drawn drawn(static_cast<std::size_t>(cascade_->num_stages()));
  for (std::int64_t sample = 0; sample < config_.samples; ++sample) {
    const auto of_sample = nn::sample_cascade(*cascade_, contexts, schedule_, sampling,
                                              {context.seed, context.first_position, sample});
    for (std::size_t stage = 0; stage < of_sample.size(); ++stage)
      drawn[stage].push_back(of_sample[stage]);
  }
  return drawn;
}

VolumeQuality CtDiffusion::quality_of(const at::Tensor& volumes, std::int64_t stage,
                                      const Batch& batch) const {
  const at::Tensor truth = at_side(batch.fields.at(kVolume), cascade_->stage(stage).side);
  const at::Tensor& xrays = batch.fields.at(kXrays);
  return {.psnr = metrics::psnr(volumes, truth, kRange),
          .ssim = metrics::ssim(volumes, truth, kRange),
          .hu_mae = metrics::mean_absolute_error(volumes, truth) * units_.hu_per_unit(),
          .projection_error =
              projection(stage, xrays.size(3)).relative_error(volumes, xrays).to(at::kDouble)};
}

// By draws that do not depend on the step, so that a change from one evaluation to the next is the
// weights' own.
Task::Evaluated CtDiffusion::evaluate(const Batch& batch, const nn::ForwardContext& context) {
  const nn::ForwardContext fixed{context.seed, /*step=*/0, context.first_position};
  const tensor::Fields outputs = forward(batch, fixed);
  Evaluated evaluated{.loss = loss(outputs, batch), .sums = sums(outputs, batch)};
  const Drawn drawn = draw(batch, fixed);
  std::vector<at::Tensor> qualities;  // in the order of VolumeSums::quality_names()
  for (std::int64_t stage = last_stage(); stage >= 0; --stage) {
    const auto& samples = drawn[static_cast<std::size_t>(stage)];
    const auto add = [&](const at::Tensor& volumes, bool is_mean) {
      const VolumeQuality quality = quality_of(volumes, stage, batch);
      sums_.add(stage, is_mean, quality, evaluated.sums);
      qualities.push_back(quality.rows());
    };
    add(samples.front(), /*is_mean=*/false);
    if (samples.size() > 1) add(at::stack(samples).mean(0), /*is_mean=*/true);
  }
  const at::Tensor last = at::stack(drawn.back());
  evaluated.outputs.set(PatientRecorder::kQualities, at::cat(qualities, 1));
  evaluated.outputs.set(kFirstSample, drawn.back().front());
  evaluated.outputs.set(kMeanVolume, last.mean(0));
  evaluated.outputs.set(kDeviationVolume, last.std(0, /*unbiased=*/config_.samples > 1));
  return evaluated;
}

metrics::Picture CtDiffusion::picture_of_xrays(const at::Tensor& volume,
                                               const at::Tensor& xrays) const {
  const nn::ProjectionLoss& loss = projection(last_stage(), xrays.size(2));
  return xrays_picture({.given = loss.integrals_of_xrays(xrays.unsqueeze(0)).squeeze(0),
                        .made = loss.integrals_of_volumes(volume.unsqueeze(0)).squeeze(0),
                        .angles_degrees = cascade_->geometry().angles_degrees,
                        .fov_mm = fov_mm_});
}

std::vector<metrics::Picture> CtDiffusion::pictures(const tensor::Fields& outputs,
                                                    const Batch& batch) const {
  const auto first = [](const at::Tensor& values) { return values.select(0, 0).to(at::kFloat); };
  const at::Tensor mean = first(outputs.at(kMeanVolume));
  const ShownVolumes volumes{
      .truth = units_.to_hu(first(batch.fields.at(kVolume))),
      .sample = units_.to_hu(first(outputs.at(kFirstSample))),
      .mean = units_.to_hu(mean),
      .deviation = first(outputs.at(kDeviationVolume)) * units_.hu_per_unit(),
      .num_samples = config_.samples};
  return {slices_picture(volumes, units_.hu_window),
          picture_of_xrays(mean, first(batch.fields.at(kXrays)))};
}

std::vector<metrics::Picture> CtDiffusion::pictures_of_prediction(
    const tensor::Fields& patient) const {
  const at::Tensor mean = patient.at(kMean).to(at::kFloat);
  ShownVolumes volumes{
      .mean = mean, .deviation = patient.at(kDeviation), .num_samples = config_.samples};
  if (const at::Tensor* const truth = patient.find(kVolume))
    volumes.truth = units_.to_hu(truth->to(at::kFloat));
  const at::Tensor scaled = (mean - units_.hu_window[0]) / units_.hu_per_unit() - 1;
  return {slices_picture(volumes, units_.hu_window),
          picture_of_xrays(scaled, patient.at(kXrays).to(at::kFloat).to(mean.device()))};
}

tensor::Fields CtDiffusion::predict(const Batch& batch, const nn::ForwardContext& context) {
  // Half precision has not room for each HU.
  const at::Tensor drawn = units_.to_hu(at::stack(draw(batch, context).back(), 1).to(at::kFloat));
  return {{std::string(kSamples), drawn},
          {std::string(kMean), drawn.mean(1)},
          {std::string(kDeviation), drawn.std(1, /*unbiased=*/config_.samples > 1)}};
}

std::vector<data::FieldSpec> CtDiffusion::sample_fields() const {
  const std::int64_t side = cascade_->stage(last_stage()).side;
  return {{.name = std::string(kVolume), .sizes = {side, side, side}},
          {.name = std::string(kXrays), .sizes = cascade_->xray_sizes()}};
}

std::int64_t CtDiffusion::pass_bytes(const nn::PassOptions& options) const {
  return ct_pass_bytes(*cascade_, config_.physics_weight > 0, options);
}

std::optional<PublishedTraining> CtDiffusion::published() const {
  return guide_of_volumes(cascade_->stage(last_stage()).side);
}

std::unique_ptr<Task> make(const CtDiffusionConfig& config, TaskParts& parts) {
  auto network = std::dynamic_pointer_cast<nn::CascadeNetwork>(parts.make_network());
  if (!network) {
    throw base::ConfigError(
        "model.name: task ct_diffusion needs a cascade of stages that make volumes: model "
        "ct_cascade");
  }
  return std::make_unique<CtDiffusion>(std::move(network), config);
}

}  // namespace paceline::train

void paceline::config::Schema<paceline::train::CtDiffusionConfig>::validate(const Config& value,
                                                                            Problems& problems) {
  if (value.sampling_steps > value.num_timesteps)
    problems.add("sampling_steps", fmt::format("is {}, but the diffusion has num_timesteps: {}",
                                               value.sampling_steps, value.num_timesteps));
  if (value.sampling_noise > value.condition_noise)
    problems.add("sampling_noise",
                 fmt::format("is {}, but no stage learns of more than condition_noise: {}",
                             value.sampling_noise, value.condition_noise));
}
