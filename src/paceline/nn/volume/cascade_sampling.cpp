#include "paceline/nn/volume/cascade_sampling.h"

#include "paceline/nn/diffusion/sample_draws.h"
#include "paceline/nn/volume/conditioning_augmentation.h"
#include "paceline/tensor/torch.h"

namespace paceline::nn {
namespace {

/// Apart from those of training, whose index is 0.
std::uint64_t index_of(std::int64_t sample, std::int64_t stage) {
  constexpr std::uint64_t kMostStages = 64;
  return 1 + static_cast<std::uint64_t>(stage) + kMostStages * static_cast<std::uint64_t>(sample);
}

}  // namespace

CascadeContexts encode_for_cascade(const CascadeNetwork& network, const at::Tensor& xrays) {
  const at::NoGradGuard no_grad;
  CascadeContexts contexts{{}, xrays.options(), xrays.size(0)};
  for (std::int64_t i = 0; i < network.num_stages(); ++i)
    contexts.of_stages.push_back(network.encode(i, xrays));
  return contexts;
}

std::vector<at::Tensor> sample_cascade(const CascadeNetwork& network,
                                       const CascadeContexts& contexts,
                                       const NoiseSchedule& schedule,
                                       const CascadeSampling& sampling, const CascadeDraw& draw) {
  const at::NoGradGuard no_grad;
  const ForwardContext context{draw.seed, /*step=*/0, draw.first_position};
  const auto steps = sampling_steps(schedule, sampling.steps, sampling.spacing);
  std::vector<at::Tensor> volumes;
  for (std::int64_t i = 0; i < network.num_stages(); ++i) {
    const XrayContext& xrays = contexts.of_stages.at(static_cast<std::size_t>(i));
    const std::uint64_t index = index_of(draw.sample, i);
    const std::int64_t side = network.stage(i).side;
    const std::int64_t patients = contexts.num_patients;
    const at::Tensor like = at::empty({1}, contexts.options).expand({patients, side, side, side});
    NoisyVolumes seen;
    if (i > 0) {
      NoisyCondition condition = condition_at_level(volumes.back(), sampling.level, context, index);
      seen.previous = std::move(condition.volumes);
      seen.levels = std::move(condition.levels);
    }
    const auto denoise = [&](const at::Tensor& noisy, std::int64_t step) {
      seen.noisy = noisy;
      seen.steps = at::full({patients}, step, at::TensorOptions(at::kLong).device(noisy.device()));
      return network.denoise(i, seen, xrays);
    };
    volumes.push_back(sample_ddim(schedule,
                                  drawn_normals(like, DiffusionDraw::kNoise, context, index), steps,
                                  denoise, sampling.limit));
  }
  return volumes;
}

}  // namespace paceline::nn
