#include "paceline/app/batch_find/batch_keys.h"
#include "paceline/app/batch_find_run.h"
#include "paceline/base/text.h"
#include "paceline/cli/command_line.h"
#include "paceline/cli/commands.h"
#include "paceline/cli/rank_process.h"
#include "paceline/launch/options.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace paceline::cli {
namespace {

/// What `paceline batch-find` is asked to do.
struct BatchFindWork {
  app::TrainRequest request;
  std::optional<std::uint64_t> memory_limit;
  bool scales_lr = false;
  bool as_json = false;
};

std::vector<std::string> keys_of(const app::BatchFindResult& result, const BatchFindWork& work) {
  std::vector<std::string> keys = result.largest_keys;
  if (work.scales_lr) keys.insert(keys.end(), result.lr_keys.begin(), result.lr_keys.end());
  return keys;
}

std::string bytes_text(double bytes) {
  return base::format_bytes(static_cast<std::uint64_t>(std::max(0.0, bytes)));
}

std::string table_of(const app::BatchFindResult& result) {
  std::string text =
      fmt::format("{:>8}{:>13}{:>13}  {}\n", "samples", "predicted", "measured", "verdict");
  for (std::size_t i = 0; i < result.tries.size(); ++i) {
    const app::BatchTry& made = result.tries[i];
    text += fmt::format("{:>8}{:>13}{:>13}  {}\n", made.samples,
                        made.predicted ? bytes_text(*made.predicted) : "", bytes_text(made.bytes),
                        result.verdicts[i]);
  }
  return text;
}

std::string command_with(const std::vector<std::string>& keys, const BatchFindWork& work,
                         const app::SessionContext& context) {
  if (work.request.only_phase)
    return fmt::format(", in phase {}: {}\n", *work.request.only_phase, base::join(keys, " "));
  std::vector<std::string> words{work.request.recipe.string()};
  const auto overrides = app::overrides_with(work.request.overrides, keys);
  words.insert(words.end(), overrides.begin(), overrides.end());
  if (context.communicator.world_size() > 1)
    words.push_back(fmt::format("--nproc={}", context.ranks_per_node));
  std::ranges::transform(words, words.begin(), base::shell_word);
  const bool has_nodes = context.communicator.world_size() > context.ranks_per_node;
  return fmt::format(": paceline train {}{}\n", base::join(words, " "),
                     has_nodes ? " and the options of this launch that name the nodes" : "");
}

std::string text_of(const app::BatchFindResult& result, const BatchFindWork& work,
                    const app::SessionContext& context) {
  std::string text =
      fmt::format("of {} for a rank's tensors {} are state, whatever the batch is\n{}",
                  base::format_bytes(result.limit_bytes), base::format_bytes(result.state_bytes),
                  table_of(result));
  text += fmt::format(
      "{} samples a rank at once are the most{}: a global batch of {}{}\n", result.samples_per_rank,
      result.ends_with_data ? " that the data have" : " that fit", result.global_batch(),
      result.world_size > 1 ? fmt::format(" on {} ranks", result.world_size) : "");
  text += "train with it" + command_with(keys_of(result, work), work, context);
  if (!work.scales_lr && !result.lr_keys.empty())
    text += fmt::format("the learning rate stays that of {} samples; --apply has it follow: {}\n",
                        result.own_global_batch, base::join(result.lr_keys, " "));
  if (result.same_batch_keys.empty())
    return text + fmt::format("the recipe's own batch of {} does not fit in any microbatches\n",
                              result.own_global_batch);
  return text + fmt::format("keep its own batch of {}", result.own_global_batch) +
         command_with(result.same_batch_keys, work, context);
}

std::string json_of(const app::BatchFindResult& result, const BatchFindWork& work) {
  nlohmann::json tries = nlohmann::json::array();
  for (std::size_t i = 0; i < result.tries.size(); ++i) {
    const app::BatchTry& made = result.tries[i];
    tries.push_back({{"samples_per_rank", made.samples},
                     {"predicted_bytes", nullptr},
                     {"measured_bytes", made.bytes},
                     {"fits", made.fits},
                     {"verdict", result.verdicts[i]}});
    if (made.predicted) tries.back()["predicted_bytes"] = *made.predicted;
  }
  const nlohmann::json all{{"samples_per_rank", result.samples_per_rank},
                           {"ranks", result.world_size},
                           {"global_batch_size", result.global_batch()},
                           {"ends_with", result.ends_with_data ? "data" : "memory"},
                           {"limit_bytes", result.limit_bytes},
                           {"state_bytes", result.state_bytes},
                           {"tries", tries},
                           {"overrides", keys_of(result, work)},
                           {"overrides_for_own_batch", result.same_batch_keys}};
  return all.dump() + "\n";
}

void find(const BatchFindWork& work, const app::SessionContext& context) {
  const app::BatchFindResult result = app::find_batch(work.request, work.memory_limit, context);
  if (context.communicator.rank() == 0)
    fmt::print("{}", work.as_json ? json_of(result, work) : text_of(result, work, context));
}

void add_options(CLI::App& app, BatchFindWork& work, std::string& phase) {
  app.add_option("recipe", work.request.recipe, "The recipe")->required();
  app.add_option("overrides", work.request.overrides, "section.key=value changes");
  app.add_option("--phase", phase, "Of a recipe of phases this one");
  app.add_option("--memory-limit", work.memory_limit,
                 "What a rank's tensors may take, such as 2GiB; needed on the CPU, and on a GPU "
                 "what it has free unless less is given")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/false));
  app.add_flag("--apply", work.scales_lr,
               "Have the learning rate follow from the recipe's batch to the one found, as "
               "train.lr_scaling does");
  app.add_flag("--json", work.as_json, "Print one JSON object, in bytes");
  app.footer(
      "Each try is two steps of training on the recipe's data, at the largest images of the run,\n"
      "and an evaluation of one batch if the run evaluates. Three small sizes are measured; what\n"
      "they predict is tried, and lowered if it does not fit. Batches that loaders hold, and the\n"
      "copy that a checkpoint is written from, are counted. Nothing is written.\n\n"
      "Launch options:\n" +
      launch::launch_options_help(/*can_detach=*/false));
}

}  // namespace

int run_batch_find(const std::vector<std::string>& arguments, const app::Registries& registries) {
  BatchFindWork work;
  std::string phase;
  CLI::App app("Find the largest batch that fits into memory.", "batch-find");
  add_options(app, work, phase);
  if (!parse_arguments(app, arguments, registries)) return 0;
  if (!phase.empty()) work.request.only_phase = phase;
  RankProcess process(registries);
  find(work, process.context());
  process.shutdown();
  return 0;
}

}  // namespace paceline::cli
