#include "paceline/app/run_directory/find_checkpoint.h"

#include "paceline/app/run_directory/phase_folders.h"
#include "paceline/app/run_directory/run_directory.h"
#include "paceline/base/error.h"
#include "paceline/base/file_status.h"
#include "paceline/base/log.h"
#include "paceline/base/text.h"
#include "paceline/checkpoint/directory.h"
#include "paceline/checkpoint/reader.h"
#include "paceline/checkpoint/weights/stored_weights.h"
#include "paceline/config/parse.h"

#include <algorithm>
#include <charconv>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace paceline::app {
namespace {

namespace fs = std::filesystem;

/// A run or checkpoint, and what stands behind an '@', if there is one.
std::pair<fs::path, std::optional<std::string>> split_name(const fs::path& named) {
  const std::string text = named.string();
  const std::size_t at = text.rfind('@');
  if (at == std::string::npos || text.find('/', at) != std::string::npos ||
      base::file_exists(named)) {
    return {named, std::nullopt};
  }
  return {text.substr(0, at), text.substr(at + 1)};
}

/// The steps of the checkpoints that there are, for a message.
std::string saved_steps_in(const fs::path& folder) {
  constexpr std::size_t kMost = 10;
  std::vector<std::string> steps;
  for (const checkpoint::Listed& listed : checkpoint::list_checkpoints(folder).complete)
    steps.push_back(fmt::format("step-{}", listed.step));
  if (steps.empty()) return "none";
  const std::size_t num_left_out = steps.size() > kMost ? steps.size() - kMost : 0;
  std::string text = num_left_out > 0 ? fmt::format("{} older ones, ", num_left_out) : "";
  return text + base::join(std::span(steps).subspan(num_left_out), ", ");
}

/// "; runs lie in it: a, b" for a folder of runs.
std::string runs_in(const fs::path& folder) {
  constexpr std::size_t kMost = 5;
  std::vector<std::string> runs;
  std::error_code ignored;  // then none is named
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (base::file_exists(entry.path() / kConfigFile)) runs.push_back(entry.path().string());
  }
  if (runs.empty()) return "";
  std::ranges::sort(runs);
  return "; runs lie in it: " + base::join_first(runs, kMost);
}

/// By the metric that the newest checkpoint's recipe calls the run's.
fs::path best_checkpoint(const fs::path& folder, const fs::path& named) {
  const auto complete = checkpoint::list_checkpoints(folder).complete;
  if (complete.empty())
    throw base::CheckpointError(fmt::format("{} holds no usable checkpoint", folder.string()));
  const fs::path& newest = complete.back().path;
  const config::Node recipe =
      config::parse_yaml(checkpoint::CheckpointReader(newest).manifest().config, newest.string());
  const config::Node* monitor = recipe.find_path("checkpoint.monitor");
  const config::Node* mode = recipe.find_path("checkpoint.mode");
  if (monitor == nullptr || mode == nullptr) {
    throw base::CheckpointError(
        fmt::format("{}: its recipe does not say what is best; name a step", newest.string()));
  }
  const auto best = checkpoint::best_whole(
      folder, monitor->text,
      mode->text == "min" ? checkpoint::MonitorMode::kMin : checkpoint::MonitorMode::kMax);
  if (best) return best->path;
  throw base::CheckpointError(fmt::format(
      "{}: no checkpoint was saved right after an evaluation of '{}' (checkpoint.monitor), so none "
      "is the best; there are: {}",
      named.string(), monitor->text, saved_steps_in(folder)));
}

fs::path checkpoint_of_step(const fs::path& folder, std::string_view which, const fs::path& named) {
  constexpr std::string_view kStep = "step-";
  std::int64_t step = -1;
  if (which.starts_with(kStep)) {
    const char* const end = which.data() + which.size();
    const auto parsed = std::from_chars(which.data() + kStep.size(), end, step);
    if (parsed.ec != std::errc() || parsed.ptr != end) step = -1;
  }
  if (step < 0) {
    throw base::CheckpointError(fmt::format(
        "{}: '@{}' names no checkpoint: expected @best, @last or @step-N", named.string(), which));
  }
  fs::path path = folder / checkpoint::checkpoint_name(step);
  if (base::file_exists(path / checkpoint::kManifestFile)) return path;
  throw base::CheckpointError(fmt::format("{}: there is no checkpoint of step {}; there are: {}",
                                          named.string(), step, saved_steps_in(folder)));
}

/// A folder that is neither a run nor a checkpoint, whatever was exported into it.
bool is_other_programs_folder(const fs::path& path) {
  return base::folder_exists(path) && !base::file_exists(path / kConfigFile) &&
         !base::file_exists(path / checkpoint::kManifestFile);
}

}  // namespace

std::optional<fs::path> newest_checkpoint(const fs::path& folder,
                                          const checkpoint::DamageOf& damage) {
  checkpoint::Latest latest = checkpoint::find_latest(folder, damage);
  std::vector<std::string> notes;
  for (const checkpoint::Damaged& damaged : latest.skipped) {
    notes.push_back(fmt::format("passed over the damaged checkpoint {}: {}", damaged.path.string(),
                                damaged.reason));
  }
  if (!latest.path && !notes.empty()) {
    throw base::CheckpointError(
        fmt::format("{} holds no usable checkpoint; {}", folder.string(), notes.front()));
  }
  for (const std::string& note : notes) base::log_warning(note);
  return std::move(latest.path);
}

fs::path find_checkpoint(const fs::path& named) {
  const auto [path, which] = split_name(named);
  if (!base::file_exists(path)) {
    if (const auto phase = phase_of_guide_name(path); phase && !which)
      return find_checkpoint(*phase);
    throw base::CheckpointError(fmt::format(
        "{}: there is no such run or checkpoint; give a run directory (RUN, or RUN@best, RUN@last, "
        "RUN@step-N) or one of its checkpoints",
        named.string()));
  }
  if (!base::folder_exists(path)) {
    const bool is_weights = path.extension() == ".safetensors";
    throw base::CheckpointError(fmt::format(
        "{}: is a file, and neither a run nor a checkpoint; give the run directory{}",
        path.string(),
        is_weights
            ? " that it was exported from. Weights alone do not name their model: predict and "
              "eval take a folder of `paceline export --format hf`, whose config.json does, "
              "and model.pretrained starts a run from any"
            : ""));
  }
  if (!which && base::file_exists(path / checkpoint::kManifestFile)) {
    const fs::path name = path.has_filename() ? path : path.parent_path();
    return fs::is_symlink(name) ? fs::canonical(name) : path;  // links are pointed elsewhere
  }
  const fs::path run = newest_phase(path).value_or(path);
  const fs::path folder = folder_of_run(run).value_or(run);
  if (which == "best") return best_checkpoint(folder, named);
  if (which && which != "last") return checkpoint_of_step(folder, *which, named);
  if (std::optional<fs::path> newest = newest_checkpoint(folder)) return *std::move(newest);
  throw base::CheckpointError(
      fmt::format("{} holds no usable checkpoint{}", folder.string(), runs_in(path)));
}

fs::path locate_weights(const std::string& named) {
  if (fs::is_regular_file(named)) return named;
  if (is_other_programs_folder(named)) {
    if (const auto file = checkpoint::find_weight_file(named)) return *file;
  }
  if (base::file_exists(split_name(named).first)) return find_checkpoint(named);
  throw base::ConfigError(fmt::format(
      "model.pretrained: '{}' is no file, run or checkpoint; write the path of a file with "
      "torchvision's or timm's weights (.safetensors, .pth, .pt, .bin), of a checkpoint, or "
      "RUN@best; or hf:OWNER/NAME, torchvision:WEIGHTS or a URL",
      base::excerpt(named, 200)));
}

fs::path find_weights(const std::string& named) {
  fs::path found = locate_weights(named);
  if (!fs::is_regular_file(found)) checkpoint::CheckpointReader(found).verify();
  return found;
}

}  // namespace paceline::app
