#include "paceline/app/banner.h"

#include "paceline/app/memory_estimate.h"
#include "paceline/app/memory_report.h"
#include "paceline/base/text.h"
#include "paceline/base/version.h"
#include "paceline/nn/module_tree.h"

namespace paceline::app {
namespace {

std::int64_t num_parameters(const Session& session, bool trained_only) {
  std::int64_t count = 0;
  for (const auto& named : nn::named_parameters(session.state().task->network())) {
    if (!trained_only || named.tensor.requires_grad()) count += named.tensor.numel();
  }
  return count;
}

std::string frozen_text(const Recipe& recipe, const Session& session) {
  if (recipe.model.freeze.empty()) return "";
  return fmt::format(", {} of them trained", base::format_count(num_parameters(session, true)));
}

std::string precision_text(const train::TrainerConfig& config) {
  std::string text(config::enum_name(config.precision));
  if (autocast_dtype(config.precision)) text += " by autocast, weights and optimizer state fp32";
  if (config.precision == train::Precision::kFloat16)
    text += fmt::format(", loss scaled by {:g} at first", config.grad_scaler.init_scale);
  return text;
}

}  // namespace

std::string describe_data(const Session& session) {
  const std::string train = base::format_count(session.train_set().size());
  const std::string_view samples = word_for_samples(session.fields());
  if (session.val_set() == nullptr)
    return fmt::format("{} training {} and no validation", train, samples);
  return fmt::format("{} training and {} validation {}", train,
                     base::format_count(session.val_set()->size()), samples);
}

std::vector<std::string> banner(const Recipe& recipe, const Session& session,
                                const SessionContext& context) {
  std::vector<std::string> lines;
  lines.push_back(fmt::format("paceline {}: {}", base::kVersion, context.communicator.describe()));
  if (context.device.is_asynchronous()) {
    lines.push_back("device of rank 0: " + context.device.describe());
  }
  const int num_classes = session.train_set().num_classes();
  lines.push_back(fmt::format("data: {}, {}{}", describe_data(session),
                              num_classes > 0 ? fmt::format("{} classes, ", num_classes) : "",
                              describe_fields(session.fields())));
  lines.push_back(fmt::format("model: {}, {} parameters{}{}", recipe.model.network.name,
                              base::format_count(num_parameters(session, false)),
                              frozen_text(recipe, session),
                              recipe.train.channels_last ? ", channels-last" : ""));
  lines.push_back("precision: " + precision_text(recipe.train));
  lines.push_back("batches: " + session.batches().text(word_for_samples(session.fields())));
  lines.push_back(
      fmt::format("{} at learning rate {}, schedule {}; strategy {}; {} threads per rank",
                  recipe.optimizer.name, session.base_lr().text, recipe.schedule.name,
                  session.state().strategy->name(), context.num_threads));
  const MemoryEstimate memory = session.memory();
  lines.push_back(fmt::format(
      "memory per rank: {}; activations of a microbatch of {} come on top (--dry-run measures)",
      describe_parts(memory), memory.batches.microbatch()));
  for (const std::string& note : session.notes()) lines.push_back("note: " + note);
  return lines;
}

std::vector<std::string> plan(const Session& session) {
  const double flops =
      session.state().task->network().flops_per_sample(sample_sizes(session.fields()));
  const BatchArithmetic& batches = session.batches();
  const std::string_view word = word_for_samples(session.fields());
  std::vector<std::string> lines;
  lines.push_back(
      fmt::format("trained parameters: {}", base::format_count(num_parameters(session, true))));
  lines.push_back(
      fmt::format("operations: {:.2f} GFLOP forward per {}, about {:.1f} TFLOP per step",
                  flops / 1e9, word == "images" ? "image" : "sample",
                  3 * flops * static_cast<double>(batches.global_batch_size) / 1e12));
  return lines;
}

std::vector<std::string> memory_plan(const Recipe& recipe, const Registries& registries,
                                     const MemoryQuestion& question) {
  std::vector<std::string> lines{
      "memory per rank; activations are those measured on a few samples, extended:"};
  const auto estimates = estimate_strategies(recipe, registries, question);
  for (std::string& line : memory_table(estimates)) lines.push_back("  " + std::move(line));
  return lines;
}

}  // namespace paceline::app
