#include "paceline/app/recipe/guide_json/guide_draft.h"

#include <array>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace paceline::app {
namespace {

using config::Node;

/// Each run gets a folder of its own there.
void draft_folder(GuideSection& checkpoints, Node& recipe) {
  if (const Node* const folder = checkpoints.take("checkpoint_dir"))
    put(recipe, "run.dir", *folder);
}

/// Saves after every evaluation, so that the best is kept whichever it is, and besides as often as
/// the document says.
void draft_intervals(GuideSection& checkpoints, GuideSection& logging, Node& recipe) {
  const auto evaluates = logging.take_count({"validate_every_n_epochs"});
  const auto saves = checkpoints.take_count({"save_every_n_epochs"});
  if (evaluates) put(recipe, "train.eval_every", Node::scalar(fmt::format("{}ep", *evaluates)));
  const std::int64_t every = std::gcd(saves.value_or(evaluates.value_or(1)), evaluates.value_or(1));
  put(recipe, "checkpoint.every", Node::scalar(fmt::format("{}ep", every)));
}

void draft_wandb(GuideSection& logging, GuideDraft& draft) {
  GuideSection wandb = logging.take_section("wandb");
  const auto is_enabled = wandb.take_flag("enabled");
  for (const char* const of_account : {"project", "entity"})
    static_cast<void>(wandb.take(of_account));  // there is none
  if (const Node* const name = wandb.take("run_name")) put(draft.recipe, "run.name", *name);
  wandb.end();
  if (is_enabled == true)
    draft.notes.emplace_back(
        "logging.wandb: there is no W&B here; TensorBoard's files and metrics.jsonl in the run's "
        "directory have every metric");
}

/// Of the console; whoever names one logger names all.
void draft_loggers(GuideSection& logging, Node& recipe) {
  const Node* const steps = logging.take("log_every_n_steps");
  if (steps == nullptr) return;
  put(recipe, "loggers.console.interval_steps", *steps);
  for (const char* const name : {"jsonl", "system", "tensorboard"})
    put(recipe, fmt::format("loggers.{}", name), Node::map());
}

}  // namespace

void draft_records(GuideSection& document, GuideDraft& draft) {
  GuideSection checkpoints = document.take_section("checkpointing");
  GuideSection logging = document.take_section("logging");
  if (const Node* const name = document.take("model_name")) put(draft.recipe, "run.name", *name);
  put(draft.recipe, "checkpoint.monitor", Node::scalar("val/psnr"));
  draft_folder(checkpoints, draft.recipe);
  draft_intervals(checkpoints, logging, draft.recipe);
  if (const Node* const kept = checkpoints.take("keep_last_n_checkpoints"))
    put(draft.recipe, "checkpoint.keep_last", *kept);
  draft_wandb(logging, draft);
  draft_loggers(logging, draft.recipe);
  checkpoints.end();
  logging.end();
}

}  // namespace paceline::app
