#pragma once

#include "paceline/nn/network.h"
#include "paceline/volume/projection_geometry.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::nn {

struct Shaped;     // nn/pass_memory/shape_tape.h
class ShapedPass;  // nn/pass_memory/shaped_pass.h

/// What a stage knows of its patients before it sees a noisy volume: it stays the same for all
/// steps and samples of a diffusion. With gradients, as training needs it, or without.
struct XrayContext {
  at::Tensor at_voxels;                 ///< pixels and lift where each token lies, embedded
  at::Tensor condition;                 ///< the pooled X-rays' part of what steers the blocks
  std::vector<at::Tensor> keys_values;  ///< of the X-rays' tokens for each block
  at::Tensor voxels = {};               ///< pixels and lift at each voxel; none in a first stage
};

/// What a stage denoises.
struct NoisyVolumes {
  at::Tensor noisy;          ///< x_t [N, side, side, side]
  at::Tensor steps;          ///< t of each, int64 [N]
  at::Tensor previous = {};  ///< [N, previous_side, ...]; undefined for the first stage
  at::Tensor levels = {};    ///< standard deviation of the noise on `previous`, [N]
};

/// The cubes of a stage: voxels a side.
struct CascadeStage {
  std::int64_t side = 0;
  std::int64_t previous_side = 0;  ///< of the stage before; 0: it is the first
};

/// Stages that make volumes of X-rays, each from noise and, but for the first, from the volume of
/// the stage before, which it makes finer. What they put out is x_0, the volume itself, in the
/// units of the data. A stage shares no parameter with another. Stages are added one by one: the
/// last is the one that is trained, and those before rest.
class CascadeNetwork : public Network {
 public:
  // The fields that forward() reads, as the members of NoisyVolumes; X-rays are [N, views, H, W].
  static constexpr std::string_view kXrays = "xrays";
  static constexpr std::string_view kNoisy = "noisy";
  static constexpr std::string_view kSteps = "steps";
  static constexpr std::string_view kPrevious = "previous";
  static constexpr std::string_view kLevels = "levels";

  virtual std::int64_t num_stages() const = 0;
  virtual CascadeStage stage(std::int64_t number) const = 0;
  /// How its X-rays are taken.
  virtual const volume::ProjectionGeometry& geometry() const = 0;
  /// What of X-rays [N, views, H, W] one stage needs.
  virtual XrayContext encode(std::int64_t stage, const at::Tensor& xrays) const = 0;
  /// x_0 of a stage, [N, side, side, side] of noisy's type. The same bits whether the context was
  /// made for this call or is used again.
  virtual at::Tensor denoise(std::int64_t stage, const NoisyVolumes& volumes,
                             const XrayContext& context) const = 0;

  // What is told without running anything; InternalError from a network that does not tell.
  /// Of a sample's X-rays: views, height and width.
  virtual std::vector<std::int64_t> xray_sizes() const;
  /// What forward() makes and keeps, of shapes alone, in a pass that has just begun.
  virtual Shaped shaped_forward(ShapedPass& pass) const;

  /// Which stage forward() and flops_per_sample() are of; the first unless set.
  std::int64_t current_stage() const { return current_stage_; }
  /// Units of the others are idle from now on. Throws InternalError for a stage that there is not.
  void set_current_stage(std::int64_t number);
  /// encode() and denoise() of that stage.
  at::Tensor forward(const tensor::Fields& inputs, const ForwardContext& context) final;

  /// What the names of a stage's parameters start with, "stages.1": a pattern of NetworkPart.
  static std::string stage_name(std::int64_t number) { return "stages." + std::to_string(number); }
  /// The parameter whose trained value this one starts from when its stage's turn comes: of an
  /// encoder the same of the stage before. Nothing: it starts as it was drawn.
  static std::optional<std::string> starts_from(const std::string& parameter);
  /// The last stage is what stored weights may lack.
  std::optional<std::string> grown_from(const std::string& parameter) const override;
  std::vector<std::string> parts_trained_before() const override;

 private:
  std::int64_t current_stage_ = 0;
};

}  // namespace paceline::nn
