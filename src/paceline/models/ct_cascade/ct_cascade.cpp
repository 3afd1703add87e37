#include "paceline/models/ct_cascade/ct_cascade.h"

#include "paceline/base/error.h"
#include "paceline/models/ct_cascade/shaped_denoiser.h"
#include "paceline/nn/unit.h"
#include "paceline/volume/view_frame.h"

#include <string>

namespace paceline::models {
namespace {

constexpr std::int64_t kEncoderStride = 8;
constexpr std::int64_t kEncoderMultiple = 64;  // eight channels for each group of its first norm

VolumeDenoiserConfig denoiser_config(const CtCascadeConfig& config, std::size_t number) {
  const CascadeStageConfig& stage = config.stages[number];
  return {.encoder = {.num_views = config.num_views,
                      .xray_size = config.xray_size,
                      .dim = config.xray_dim,
                      .share_view_weights = config.share_view_weights,
                      .token_pool = config.xray_pool},
          .geometry = cascade_geometry(config),
          .side = stage.volume_size,
          .previous_side = number == 0 ? 0 : config.stages[number - 1].volume_size,
          .patch = stage.patch,
          .dim = stage.dim,
          .depth = stage.depth,
          .num_heads = stage.heads,
          .fused = config.fused};
}

bool divides(std::int64_t divisor, std::int64_t value) {
  return divisor > 0 && value % divisor == 0;
}

std::string stage_prefix(std::size_t number) { return fmt::format("stages.{}.", number); }

void validate_stages(const CtCascadeConfig& config, config::Problems& problems) {
  for (std::size_t i = 1; i < config.stages.size(); ++i) {
    const std::int64_t size = config.stages[i].volume_size;
    const std::int64_t before = config.stages[i - 1].volume_size;
    if (divides(before, size) && size > before) continue;
    problems.add("stages", fmt::format("[{}].volume_size must be a multiple of the stage before's "
                                       "{}, as {}, got {}",
                                       i, before, 2 * before, size));
  }
}

void validate_views(const CtCascadeConfig& config, config::Problems& problems) {
  const bool by_angle = !config.view_angles.empty();
  const auto count =
      static_cast<std::int64_t>(by_angle ? config.view_angles.size() : config.view_types.size());
  if (count == config.num_views) return;
  const std::string_view key = by_angle ? "view_angles" : "view_types";
  problems.add("num_views",
               fmt::format("is {}, but {} names {}: set num_views={}, or name as many views",
                           config.num_views, key, count, count));
}

void validate_beam(const CtCascadeConfig& config, config::Problems& problems) {
  if (config.source_to_isocentre_mm.has_value() != config.source_to_detector_mm.has_value()) {
    problems.add("source_to_isocentre_mm",
                 "and source_to_detector_mm go together: set both for a cone beam, or neither");
    return;
  }
  if (!config.source_to_isocentre_mm) return;
  try {
    volume::view_frame(cascade_geometry(config), 0);
  } catch (const base::ConfigError& error) {
    problems.add("", error.what());
  }
}

}  // namespace

volume::ProjectionGeometry cascade_geometry(const CtCascadeConfig& config) {
  volume::ProjectionGeometry geometry{.fov_mm = config.fov_mm,
                                      .angles_degrees = config.view_angles};
  if (geometry.angles_degrees.empty()) {
    for (const XrayView view : config.view_types)
      geometry.angles_degrees.push_back(view == XrayView::kFrontal ? 0 : 90);
  }
  if (config.source_to_isocentre_mm)
    geometry.cone = {*config.source_to_isocentre_mm, config.source_to_detector_mm.value()};
  return geometry;
}

CtCascade::CtCascade(const CtCascadeConfig& config) : config_(config) {
  config::Problems problems;
  for (std::size_t i = 0; i < config.stages.size(); ++i) {
    problems.enter(fmt::format("stages[{}]", i), nullptr);
    config::Schema<CascadeStageConfig>::validate(config.stages[i], problems);
  }
  problems.enter("", nullptr);
  config::Schema<CtCascadeConfig>::validate(config, problems);
  problems.throw_if_any();
  geometry_ = cascade_geometry(config);
  const auto count = static_cast<std::size_t>(
      config.num_stages.value_or(static_cast<std::int64_t>(config.stages.size())));
  const auto stages = register_module("stages", std::make_shared<torch::nn::Module>());
  for (std::size_t i = 0; i < count; ++i) {
    stages_.push_back(stages->register_module(
        std::to_string(i), std::make_shared<VolumeDenoiser>(denoiser_config(config, i))));
  }
}

nn::CascadeStage CtCascade::stage(std::int64_t number) const {
  const VolumeDenoiserConfig& config = at(number).config();
  return {config.side, config.previous_side};
}

nn::XrayContext CtCascade::encode(std::int64_t stage, const at::Tensor& xrays) const {
  return at(stage).encode(xrays);
}

at::Tensor CtCascade::denoise(std::int64_t stage, const nn::NoisyVolumes& volumes,
                              const nn::XrayContext& context) const {
  return at(stage).denoise(volumes, context);
}

void CtCascade::initialize_parameter(const nn::NamedTensor& parameter,
                                     const tensor::DrawKey& key) const {
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    const std::string prefix = stage_prefix(i);
    if (!parameter.name.starts_with(prefix)) continue;
    nn::NamedTensor own = parameter;
    own.name = parameter.name.substr(prefix.size());
    return stages_[i]->initialize_parameter(own, key);
  }
  throw base::InternalError("a cascade has no parameter " + parameter.name);
}

nn::Shaped CtCascade::shaped_forward(nn::ShapedPass& pass) const {
  for (std::int64_t i = 0; i < current_stage(); ++i) pass.skip_units(std::ssize(nn::units(at(i))));
  return shaped_denoiser(at(current_stage()).config(), pass);
}

double CtCascade::flops_per_sample(const nn::SampleSizes& sizes) const {
  const auto found = sizes.find(kXrays);
  if (found == sizes.end()) {
    throw base::ConfigError(
        "model.name: ct_cascade reads X-rays, which the data set's samples have not: choose a data "
        "set with a field xrays");
  }
  const std::vector<std::int64_t> wanted = xray_sizes();
  if (found->second != wanted) {
    throw base::ConfigError(fmt::format(
        "model.xray_size: ct_cascade takes X-rays of {}, and the data set's are {}: set "
        "model.num_views and model.xray_size as the data have them",
        fmt::join(wanted, "x"), fmt::join(found->second, "x")));
  }
  nn::LayerCosts costs;
  count(current_stage(), costs);
  return costs.flops();
}

void CtCascade::count(std::int64_t stage, nn::LayerCosts& costs) const { at(stage).count(costs); }

std::unique_ptr<nn::Network> make(const CtCascadeConfig& config) {
  return std::make_unique<CtCascade>(config);
}

}  // namespace paceline::models

void paceline::config::Schema<paceline::models::CascadeStageConfig>::validate(const T& config,
                                                                              Problems& problems) {
  if (!models::divides(config.patch, config.volume_size)) {
    problems.add("volume_size", fmt::format("must be a multiple of patch ({}), got {}",
                                            config.patch, config.volume_size));
  }
  if (!models::divides(config.heads, config.dim)) {
    problems.add("dim",
                 fmt::format("must be a multiple of heads ({}), got {}", config.heads, config.dim));
  }
}

void paceline::config::Schema<paceline::models::CtCascadeConfig>::validate(const T& config,
                                                                           Problems& problems) {
  if (config.stages.empty()) problems.add("stages", "needs at least one stage");
  models::validate_stages(config, problems);
  if (const auto count = static_cast<std::int64_t>(config.stages.size());
      config.num_stages.value_or(1) > count)
    problems.add("num_stages", fmt::format("is {}, but stages lists {}: set it to 1 to {}, or list "
                                           "more",
                                           *config.num_stages, count, count));
  models::validate_views(config, problems);
  models::validate_beam(config, problems);
  const std::int64_t multiple = models::kEncoderStride * config.xray_pool;
  if (!models::divides(multiple, config.xray_size)) {
    problems.add("xray_size", fmt::format("must be a multiple of 8 * xray_pool ({}), got {}",
                                          multiple, config.xray_size));
  }
  if (!models::divides(models::kEncoderMultiple, config.xray_dim))
    problems.add("xray_dim", fmt::format("must be a multiple of 64, got {}", config.xray_dim));
}
