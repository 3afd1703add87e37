#include "paceline/app/recipe/guide_json/guide_draft.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace paceline::app {
namespace {

using config::Node;

// What the guide's programs take where a document says nothing.
constexpr std::string_view kEpochs = "100ep";
constexpr std::string_view kBatch = "4";
constexpr std::string_view kLearningRate = "1e-4";
constexpr std::string_view kWeightDecay = "0.01";
constexpr std::string_view kGradientClip = "1.0";
constexpr std::string_view kEmaDecay = "0.9999";

struct PrecisionName {
  std::string_view theirs, ours;
};

constexpr std::array kPrecisions{PrecisionName{"fp16", "fp16"}, PrecisionName{"bf16", "bf16"},
                                 PrecisionName{"fp32", "fp32"}, PrecisionName{"no", "fp32"},
                                 PrecisionName{"true", "fp16"}, PrecisionName{"false", "fp32"}};

void draft_precision(GuideSection& section, const std::string& prefix, Node& recipe) {
  const Node* const given = section.take("mixed_precision");
  if (given == nullptr) return;
  const auto found =
      std::ranges::find(kPrecisions, given->is_scalar() ? given->text : "", &PrecisionName::theirs);
  if (found == kPrecisions.end()) {
    section.refuse("mixed_precision",
                   fmt::format("must be \"fp16\", \"bf16\", \"no\", or true, which is fp16, got {}",
                               given->describe()));
    return;
  }
  put(recipe, prefix + "train.precision", scalar_at(*given, std::string(found->ours)));
}

/// Of the document or its section `training`, as the quick schema has both.
const Node* take_either(GuideSection& document, GuideSection& training, std::string_view key) {
  const Node* const here = training.take(key);
  const Node* const above = document.take(key);
  if (here != nullptr && above != nullptr)
    document.refuse(key, fmt::format("{} says it, too: leave one of them out",
                                     config::join_path(training.path(), key)));
  return here != nullptr ? here : above;
}

void require_v(GuideSection& document, GuideSection& training) {
  const Node* const given = take_either(document, training, "v_parameterization");
  if (given == nullptr || (given->is_scalar() && !given->is_quoted && given->text == "true"))
    return;
  training.problems().add(
      {given->position, "v_parameterization",
       fmt::format("the network tells x_0, from which v follows, and the loss is that of v: write "
                   "true, got {}",
                   given->describe())});
}

void put_or(GuideSection& section, std::string_view key, std::string_view ours,
            std::string_view usual, Node& recipe) {
  const Node* const given = section.take(key);
  put(recipe, ours, given != nullptr ? *given : Node::scalar(std::string(usual)));
}

/// batch_size_stage2 of `training`, as later documents have it.
void draft_batches(GuideSection& training, GuideDraft& draft) {
  for (std::size_t i = 0; i < draft.stages.size(); ++i) {
    const std::string key = fmt::format("batch_size_stage{}", i + 1);
    const Node* const given = training.take(key);
    if (given == nullptr) continue;
    const std::string ours = fmt::format("phases.{}.data.batch_size_per_rank", draft.stages[i]);
    if (draft.recipe.find_path(ours) != nullptr)
      training.refuse(key,
                      fmt::format("stage {} has a batch_size of its own: leave one of them out",
                                  draft.stages[i]));
    put(draft.recipe, ours, *given);
  }
}

/// 0 and below are no average.
void draft_average(GuideSection& training, Node& recipe) {
  const Node* const given = training.take("ema_decay");
  if (given != nullptr && guide_number(*given) == 0.0) return;
  put(recipe, "algorithms.ema.smoothing",
      given != nullptr ? *given : Node::scalar(std::string(kEmaDecay)));
  put(recipe, "algorithms.ema.warmup_power", Node::scalar("0.6667"));
  put(recipe, "algorithms.ema.evaluate", Node::scalar("average"));
}

/// torch's ReduceLROnPlateau, by which the guide's programs lower the learning rate.
void draft_schedule(Node& recipe) {
  put(recipe, "schedule.name", Node::scalar("constant"));
  put(recipe, "algorithms.plateau.monitor", Node::scalar("val/loss"));
  put(recipe, "algorithms.plateau.factor", Node::scalar("0.5"));
  put(recipe, "algorithms.plateau.patience", Node::scalar("5"));
}

}  // namespace

void draft_step(GuideSection& section, const std::string& prefix, Node& recipe) {
  draft_precision(section, prefix, recipe);
  if (const auto epochs = section.take_count({"num_epochs_per_stage", "num_epochs"}))
    put(recipe, prefix + "train.duration", Node::scalar(fmt::format("{}ep", *epochs)));
  if (const Node* const batch = section.take("batch_size"))
    put(recipe, prefix + "data.batch_size_per_rank", *batch);
  if (const Node* const rate = section.take("learning_rate"))
    put(recipe, prefix + "optimizer.lr", *rate);
  if (const Node* const pieces =
          section.take({"accumulation_steps", "gradient_accumulation_steps"}))
    put(recipe, prefix + "train.grad_accum_steps", *pieces);
  const auto checkpoints = section.take_flag("gradient_checkpointing");
  if (checkpoints == true) {
    put(recipe, prefix + "train.activation_checkpointing.every", Node::scalar("1"));
  } else if (checkpoints == false) {
    Node none;
    none.text = "null";
    put(recipe, prefix + "train.activation_checkpointing", none);
  }
}

void draft_training(GuideSection& document, GuideSection& training, GuideDraft& draft) {
  Node& recipe = draft.recipe;
  put(recipe, "train.duration", Node::scalar(std::string(kEpochs)));
  put(recipe, "data.batch_size_per_rank", Node::scalar(std::string(kBatch)));
  put(recipe, "optimizer.name", Node::scalar("adamw"));
  put(recipe, "optimizer.lr", Node::scalar(std::string(kLearningRate)));
  put_or(training, "weight_decay", "optimizer.weight_decay", kWeightDecay, recipe);
  put_or(training, "gradient_clip", "train.grad_clip_norm", kGradientClip, recipe);
  draft_step(training, "", recipe);
  draft_batches(training, draft);
  draft_schedule(recipe);
  draft_average(training, recipe);
  put(recipe, "task.name", Node::scalar("ct_diffusion"));
  if (const Node* const steps = take_either(document, training, "num_timesteps"))
    put(recipe, "task.num_timesteps", *steps);
  require_v(document, training);
}

}  // namespace paceline::app
