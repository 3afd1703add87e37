#include "paceline/launcher/guide_flags.h"

#include "paceline/base/error.h"
#include "paceline/launch/environment.h"
#include "paceline/launch/rank_info.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include <fmt/format.h>

namespace paceline::launcher {
namespace {

/// What a flag becomes.
enum class Becomes {
  kRecipe,         ///< its value alone, as the first argument
  kOption,         ///< ours with its value
  kOverride,       ///< ours=value
  kRanks,          ///< --nproc, by the number over all machines
  kRanksOfGpus,    ///< --nproc auto, unless a number is given
  kSettledMethod,  ///< nothing but that
  kFirstStage,     ///< ours with its value, or nothing for the first
  kKeepAll,
  kWandb,    ///< a note
  kNothing,  ///< it is so anyway
};

struct GuideFlag {
  std::string_view name;  ///< with '_'
  bool has_value;
  Becomes becomes;
  std::string_view ours = {};
};

constexpr std::array kFlags{
    GuideFlag{"--config", true, Becomes::kRecipe},
    GuideFlag{"--checkpoint_dir", true, Becomes::kOption, "--run-dir"},
    GuideFlag{"--resume_from", true, Becomes::kOption, "--resume"},
    GuideFlag{"--num_machines", true, Becomes::kOption, "--nnodes"},
    GuideFlag{"--machine_rank", true, Becomes::kOption, "--node-rank"},
    GuideFlag{"--main_process_ip", true, Becomes::kOption, "--master-addr"},
    GuideFlag{"--main_process_port", true, Becomes::kOption, "--master-port"},
    GuideFlag{"--mixed_precision", true, Becomes::kOverride, "train.precision"},
    GuideFlag{"--gradient_accumulation_steps", true, Becomes::kOverride, "train.grad_accum_steps"},
    GuideFlag{"--seed", true, Becomes::kOverride, "run.seed"},
    GuideFlag{"--log_dir", true, Becomes::kOverride, "loggers.tensorboard.directory"},
    GuideFlag{"--num_processes", true, Becomes::kRanks},
    GuideFlag{"--multi_gpu", false, Becomes::kRanksOfGpus},
    GuideFlag{"--method", true, Becomes::kSettledMethod},
    GuideFlag{"--start_stage", true, Becomes::kFirstStage, "--start-phase"},
    GuideFlag{"--save_all_checkpoints", false, Becomes::kKeepAll},
    GuideFlag{"--wandb", false, Becomes::kWandb},
    GuideFlag{"--wandb_project", true, Becomes::kWandb},
    GuideFlag{"--tensorboard", false, Becomes::kNothing},
};

constexpr std::string_view kWandbNote =
    "there is no W&B here; TensorBoard's files and metrics.jsonl in the run's directory have every "
    "metric";

std::string_view flag_name(std::string_view argument) {
  return argument.substr(0, argument.find('='));
}

const GuideFlag* flag_of(std::string_view argument) {
  const auto found = std::ranges::find(kFlags, flag_name(argument), &GuideFlag::name);
  return found != kFlags.end() ? found : nullptr;
}

bool is_json(std::string_view name) { return name.ends_with(".json") || name.ends_with(".jsonc"); }

/// Whether it stands behind an option that may be what it belongs to.
bool is_value(std::span<const std::string> arguments, std::size_t index) {
  if (index == 0 || !arguments[index - 1].starts_with("--")) return false;
  const GuideFlag* const flag = flag_of(arguments[index - 1]);
  return flag == nullptr || (flag->has_value && flag->becomes != Becomes::kRecipe);
}

bool names_json(std::span<const std::string> arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    const bool is_config = argument.starts_with("--config=");
    const bool is_bare = !argument.starts_with('-') && argument.find('=') == std::string::npos;
    if (is_json(argument) && (is_config || (is_bare && !is_value(arguments, i)))) return true;
  }
  return false;
}

class Translation {
 public:
  explicit Translation(std::span<const std::string> arguments) : arguments_(arguments) {}

  OwnWords result() {
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      const GuideFlag* const flag = flag_of(arguments_[i]);
      if (flag == nullptr)
        words_.arguments.push_back(arguments_[i]);
      else
        add(*flag, flag->has_value ? take_value(i) : "");
    }
    settle_ranks();
    return std::move(words_);
  }

 private:
  std::string take_value(std::size_t& index) const {
    const std::string& argument = arguments_[index];
    const std::size_t equals = argument.find('=');
    const bool is_next = equals == std::string::npos;
    const bool has_next = index + 1 < arguments_.size() && !arguments_[index + 1].starts_with("--");
    std::string value = !is_next   ? argument.substr(equals + 1)
                        : has_next ? arguments_[++index]
                                   : "";
    if (value.empty())
      throw base::ConfigError(fmt::format("{} needs a value", flag_name(argument)));
    return value;
  }

  void add(const GuideFlag& flag, const std::string& value) {
    std::vector<std::string>& ours = words_.arguments;
    switch (flag.becomes) {
      case Becomes::kRecipe:
        ours.insert(ours.begin(), value);
        break;
      case Becomes::kOption:
        ours.insert(ours.end(), {std::string(flag.ours), value});
        break;
      case Becomes::kOverride:
        ours.push_back(fmt::format("{}={}", flag.ours, value == "no" ? "fp32" : value));
        break;
      case Becomes::kRanks:
        num_ranks_ = launch::parse_int(flag.name, value, 1, launch::kMaxRanks);
        break;
      case Becomes::kSettledMethod:
        require_method(value);
        takes_all_gpus_ = true;
        break;
      case Becomes::kRanksOfGpus:
        takes_all_gpus_ = true;
        break;
      case Becomes::kFirstStage:
        if (value != "1") ours.insert(ours.end(), {std::string(flag.ours), value});
        break;
      case Becomes::kKeepAll:
        ours.emplace_back("checkpoint.keep_last=1000000000");
        break;
      case Becomes::kWandb:
        if (words_.notes.empty()) words_.notes.push_back(fmt::format("--wandb: {}", kWandbNote));
        break;
      case Becomes::kNothing:
        break;
    }
  }

  static void require_method(const std::string& value) {
    if (value == "torchrun" || value == "accelerate") return;
    throw base::ConfigError(fmt::format(
        "--method {}: expected torchrun or accelerate, which are the same here", value));
  }

  /// The launch option's value, by any of its names; the last counts.
  std::optional<std::string> option(std::initializer_list<std::string_view> names) const {
    std::optional<std::string> value;
    const std::vector<std::string>& ours = words_.arguments;
    for (std::size_t i = 0; i < ours.size(); ++i) {
      std::string name(flag_name(ours[i]));
      std::ranges::replace(name, '_', '-');
      if (std::ranges::find(names, name) == names.end()) continue;
      if (const std::size_t equals = ours[i].find('='); equals != std::string::npos)
        value = ours[i].substr(equals + 1);
      else if (i + 1 < ours.size())
        value = ours[i + 1];
    }
    return value;
  }

  /// Accelerate counts the ranks of all machines together.
  void settle_ranks() {
    if (option({"--nproc", "--nproc-per-node"})) return;
    if (num_ranks_) {
      const int nodes =
          launch::parse_int("--nnodes", option({"--nnodes"}).value_or("1"), 1, launch::kMaxRanks);
      if (*num_ranks_ % nodes != 0)
        throw base::ConfigError(fmt::format(
            "--num_processes {}: counts all machines, of which there are {}, each with as many: "
            "write --nproc N, the number on each",
            *num_ranks_, nodes));
      words_.arguments.insert(words_.arguments.end(),
                              {"--nproc", std::to_string(*num_ranks_ / nodes)});
    } else if (takes_all_gpus_) {
      words_.arguments.insert(words_.arguments.end(), {"--nproc", "auto"});
    }
  }

  std::span<const std::string> arguments_;
  OwnWords words_;
  std::optional<int> num_ranks_;
  bool takes_all_gpus_ = false;
};

}  // namespace

OwnWords in_own_words(std::span<const std::string> arguments) {
  if (!names_json(arguments)) return {{arguments.begin(), arguments.end()}};
  return Translation(arguments).result();
}

}  // namespace paceline::launcher
