#include "paceline/app/banner.h"

#include "paceline/app/model_parts.h"
#include "paceline/base/text.h"
#include "paceline/base/version.h"
#include "paceline/nn/module_tree.h"
#include "paceline/parallel/replicated_strategy.h"

namespace paceline::app {
namespace {

std::int64_t num_parameters(const Session& session, bool trained_only) {
  std::int64_t count = 0;
  for (const auto& named : nn::named_parameters(session.state().model->network())) {
    if (!trained_only || named.tensor.requires_grad()) count += named.tensor.numel();
  }
  return count;
}

std::uint64_t bytes_of(const std::vector<tensor::StateShard>& shards) {
  std::uint64_t bytes = 0;
  for (const auto& shard : shards) bytes += shard.data.nbytes();
  return bytes;
}

std::uint64_t gradient_bytes(parallel::Strategy& strategy) {
  std::uint64_t bytes = 0;
  for (const optim::ParamGroup& group : strategy.param_groups()) {
    for (const optim::ParamSlot& slot : group.slots) bytes += slot.grad.nbytes();
  }
  return bytes;
}

std::string precision_text(const train::TrainerConfig& config) {
  std::string text(config::enum_name(config.precision));
  if (autocast_dtype(config.precision)) text += " by autocast, weights and optimizer state fp32";
  if (config.precision == train::Precision::kFloat16)
    text += fmt::format(", loss scaled by {:g} at first", config.grad_scaler.init_scale);
  return text;
}

}  // namespace

std::vector<std::string> banner(const Recipe& recipe, const Session& session,
                                const SessionContext& context) {
  const data::ImageSize size = session.image_size();
  std::vector<std::string> lines;
  lines.push_back(fmt::format("paceline {}: {}", base::kVersion, context.communicator.describe()));
  if (context.device.is_queued()) {
    lines.push_back("device of rank 0: " + context.device.describe());
  }
  lines.push_back(fmt::format(
      "data: {} training and {} validation images, {} classes, {} x {} pixels",
      base::format_count(session.train_set().size()), base::format_count(session.val_set().size()),
      session.train_set().num_classes(), size.height, size.width));
  lines.push_back(fmt::format("model: {}, {} parameters{}", recipe.model.network.name,
                              base::format_count(num_parameters(session, false)),
                              recipe.train.channels_last ? ", channels-last" : ""));
  lines.push_back("precision: " + precision_text(recipe.train));
  lines.push_back("batches: " + session.batches().text());
  lines.push_back(
      fmt::format("{} at learning rate {:g}, schedule {}; strategy {}; {} threads per rank",
                  recipe.optimizer.name, session.base_lr(), recipe.schedule.name,
                  session.state().strategy->name(), context.num_threads));
  for (const std::string& note : session.notes()) lines.push_back("note: " + note);
  return lines;
}

std::vector<std::string> plan(const Recipe& recipe, const Session& session) {
  const train::TrainState& state = session.state();
  const data::ImageSize size = session.image_size();
  const double flops = state.model->network().flops_per_image(size.height, size.width);
  const std::uint64_t model = bytes_of(state.strategy->model_state());
  const std::uint64_t optimizer = bytes_of(state.strategy->optimizer_state(*state.optimizer));
  const std::int64_t trained = num_parameters(session, true);
  const std::uint64_t element = c10::elementSize(train::storage_dtype(recipe.train.precision));
  const std::uint64_t gradients = gradient_bytes(*state.strategy);
  const auto autocast = autocast_dtype(recipe.train.precision);
  const std::string copies =
      autocast ? fmt::format("up to {} of {} copies of weights, ",
                             base::format_bytes(static_cast<std::uint64_t>(trained) *
                                                c10::elementSize(*autocast)),
                             config::enum_name(recipe.train.precision))
               : "";

  const BatchArithmetic& batches = session.batches();
  const std::int64_t per_rank =
      (batches.global_batch_size + batches.world_size - 1) / batches.world_size;
  const std::int64_t microbatch =
      (per_rank + batches.grad_accum_steps - 1) / batches.grad_accum_steps;
  const std::uint64_t input = static_cast<std::uint64_t>(per_rank) * 3 * element *
                              static_cast<std::uint64_t>(size.height) *
                              static_cast<std::uint64_t>(size.width);
  std::vector<std::string> lines;
  lines.push_back(fmt::format("trained parameters: {}", base::format_count(trained)));
  lines.push_back(
      fmt::format("operations: {:.2f} GFLOP forward per image, about {:.1f} TFLOP per step",
                  flops / 1e9, 3 * flops * static_cast<double>(batches.global_batch_size) / 1e12));
  lines.push_back(fmt::format(
      "memory per rank: parameters and buffers {}, gradients {}, optimizer {}, {}{} "
      "batches of input {}; activations of a microbatch of {}{} come on top",
      base::format_bytes(model), base::format_bytes(gradients), base::format_bytes(optimizer),
      copies, recipe.data.prefetch_batches + 1,
      base::format_bytes(input * static_cast<std::uint64_t>(recipe.data.prefetch_batches + 1)),
      microbatch,
      gathers_blocks(recipe.parallel.strategy) ? " and the blocks gathered for it" : ""));
  return lines;
}

}  // namespace paceline::app
