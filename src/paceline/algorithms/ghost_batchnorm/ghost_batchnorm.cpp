#include "paceline/algorithms/ghost_batchnorm/ghost_batchnorm.h"

#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "paceline/nn/batch_norm.h"
#include "paceline/nn/rerun.h"
#include "paceline/train/run_context.h"
#include "paceline/train/train_state.h"

#include <vector>

namespace paceline::algorithms {
namespace {

void require_values(const at::Tensor& part) {
  if (part.numel() > part.size(1)) return;
  throw base::ConfigError(
      fmt::format("algorithms.ghost_batchnorm: a part of a batch has one value per channel, which "
                  "leaves nothing to normalise by; its input is [{}, {}, {}, {}]: use a larger "
                  "ghost_batch_size or larger images",
                  part.size(0), part.size(1), part.size(2), part.size(3)));
}

at::Tensor normalise_parts(const at::Tensor& input, const nn::BatchNorm2d& norm,
                           std::int64_t ghost_batch_size) {
  const bool moves_statistics = !nn::Rerun::is_repeating();
  const at::Tensor mean = moves_statistics ? norm.running_mean : at::Tensor();
  const at::Tensor variance = moves_statistics ? norm.running_var : at::Tensor();
  const std::int64_t num_parts = (input.size(0) + ghost_batch_size - 1) / ghost_batch_size;
  std::vector<at::Tensor> parts = input.chunk(num_parts);
  for (at::Tensor& part : parts) {
    require_values(part);
    part = at::batch_norm(part, norm.weight, norm.bias, mean, variance, /*training=*/true,
                          norm.momentum() / static_cast<double>(num_parts), norm.eps(),
                          at::globalContext().userEnabledCuDNN());
  }
  return parts.size() == 1 ? parts.front() : at::cat(parts);
}

}  // namespace

int set_ghost_batch_norm(torch::nn::Module& module, std::int64_t ghost_batch_size) {
  std::vector<nn::BatchNorm2d*> norms;
  module.apply([&](torch::nn::Module& below) {
    auto* const norm = below.as<nn::BatchNorm2d>();
    if (norm != nullptr && !norm->is_frozen()) norms.push_back(norm);
  });
  for (nn::BatchNorm2d* const norm : norms) {
    if (!norm->has_training_kernel()) continue;
    throw base::ConfigError(
        "algorithms.ghost_batchnorm normalises parts of a batch, and parallel.sync_batch_norm the "
        "batches of all ranks together: keep one of them");
  }
  for (nn::BatchNorm2d* const norm : norms) {
    norm->set_training_kernel(
        [ghost_batch_size](const at::Tensor& input, const nn::BatchNorm2d& self) {
          return normalise_parts(input, self, ghost_batch_size);
        });
  }
  return static_cast<int>(norms.size());
}

void GhostBatchNorm::apply(train::Event /*event*/, train::TrainState& state,
                           const train::RunContext& run) {
  const int num_norms = set_ghost_batch_norm(state.task->network(), config_.ghost_batch_size);
  if (num_norms == 0) {
    throw base::ConfigError(
        "algorithms.ghost_batchnorm finds no BatchNorm in this model that normalises by its batch "
        "(model.freeze_batch_norm and model.freeze have frozen ones keep their statistics): take "
        "it out, or choose a model like resnet50");
  }
  if (run.is_main_rank())
    base::log_info("ghost_batchnorm: {} BatchNorms normalise {} samples at a time", num_norms,
                   config_.ghost_batch_size);
}

std::unique_ptr<train::Algorithm> make(const GhostBatchNormConfig& config) {
  return std::make_unique<GhostBatchNorm>(config);
}

}  // namespace paceline::algorithms
