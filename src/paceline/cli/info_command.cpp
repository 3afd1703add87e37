#include "paceline/app/memory_fit.h"
#include "paceline/app/memory_report.h"
#include "paceline/app/model_report.h"
#include "paceline/app/phase_run.h"
#include "paceline/app/recipe/builtin.h"
#include "paceline/app/run_directory/run_directory.h"
#include "paceline/base/error.h"
#include "paceline/base/text.h"
#include "paceline/base/version.h"
#include "paceline/checkpoint/environment.h"
#include "paceline/cli/command_line.h"
#include "paceline/cli/commands.h"
#include "paceline/launch/environment.h"
#include "paceline/launch/machine.h"
#include "paceline/launch/rank_info.h"
#include "paceline/tensor/cuda_plugin.h"
#include "paceline/train/precision.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace paceline::cli {
namespace {

struct MemoryArguments {
  std::filesystem::path recipe;
  std::vector<std::string> overrides;
  int nproc = 1;
  int nnodes = 1;
  bool as_json = false;
  std::string phase = {};
  std::string device = {};
};

CLI::App* add_memory(CLI::App& app, MemoryArguments& arguments) {
  CLI::App* memory =
      app.add_subcommand("memory", "Predict the memory of a recipe on rank 0, for every strategy");
  memory->add_option("recipe", arguments.recipe, "The recipe, or the directory of a run")
      ->required();
  memory->add_option("overrides", arguments.overrides, "section.key=value changes");
  memory->add_option(
      "--phase", arguments.phase,
      "Of the recipe's phases this one; else the first, or with --device all of them");
  memory->add_option("--nproc", arguments.nproc, "Ranks on each machine")
      ->check(CLI::Range(1, launch::kMaxRanks))
      ->capture_default_str();
  memory->add_option("--nnodes", arguments.nnodes, "Machines")
      ->check(CLI::Range(1, launch::kMaxRanks))
      ->capture_default_str();
  memory->add_option("--device", arguments.device,
                     "A GPU, such as a100-80gb or h200: what each phase needs of it, and how many "
                     "samples fit");
  memory->add_flag("--json", arguments.as_json, "Print one JSON object, in bytes");
  return memory;
}

struct ModelArguments {
  std::string name;
  std::vector<std::string> options;
  std::vector<std::int64_t> size;
  bool as_json = false;
};

CLI::App* add_model(CLI::App& app, ModelArguments& arguments) {
  CLI::App* model = app.add_subcommand(
      "model", "Show a model's layers: their shapes, parameters and operations for one image");
  model->add_option("name", arguments.name, "The model, one of `paceline list models`")->required();
  model->add_option("options", arguments.options,
                    "key=value options of the model: num_classes=10 img_size=64");
  model
      ->add_option("--size", arguments.size,
                   "Of the image, in pixels: a side, or height and width; the model's usual one if "
                   "left out")
      ->expected(1, 2)
      ->check(CLI::Range(1, 16384));
  model->add_flag("--json", arguments.as_json, "Print one JSON object");
  return model;
}

void print_model(const ModelArguments& arguments, const app::Registries& registries) {
  std::optional<nn::ImageSize> size;
  if (!arguments.size.empty()) size = nn::ImageSize{arguments.size.front(), arguments.size.back()};
  const app::ModelReport report =
      app::describe_model(arguments.name, arguments.options, size, registries);
  if (arguments.as_json) {
    fmt::print("{}\n", app::model_json(report));
    return;
  }
  for (const std::string& line : app::model_table(report)) fmt::print("{}\n", line);
}

void set_footer(CLI::App& app) {
  app.footer(
      "info model: FLOPs are the multiply-accumulates of convolutions, linear layers and\n"
      "attention, times two; activations are the numbers that these give out.\n\n"
      "info memory: state (parameters, gradients, optimizer) is exact, as each strategy lays the\n"
      "model out among so many ranks. transient is the most that is gathered and on its way to\n"
      "other ranks at once, by that layout, and the copy that a checkpoint is written from.\n"
      "activations are measured: forward and backward of 2 and of 4 samples in the recipe's\n"
      "precision, with its activation checkpointing, extended to the microbatch. input are the\n"
      "batches that the loaders hold. Libraries' scratch memory and code are none of it. Of task\n"
      "ct_diffusion activations follow from shapes, and the data need not be there.\n\n"
      "info memory --device: on that GPU, less 1 GiB for driver and libraries; input are two\n"
      "batches. checkpointed is with train.activation_checkpointing={every: 1}. Of a run's\n"
      "directory the samples a second that it has measured stand beside published ones.");
}

int world_size_of(const MemoryArguments& arguments) {
  const std::int64_t ranks = std::int64_t{arguments.nproc} * arguments.nnodes;
  if (ranks > launch::kMaxRanks)
    throw base::ConfigError(
        fmt::format("--nproc {} on --nnodes {} are {} ranks, more than the {} "
                    "that a run may have",
                    arguments.nproc, arguments.nnodes, ranks, launch::kMaxRanks));
  return static_cast<int>(ranks);
}

void print_strategies(const MemoryArguments& arguments, const app::PhasedRecipe& phases,
                      const app::Registries& registries) {
  const int world_size = world_size_of(arguments);
  const app::Recipe recipe =
      app::load_recipe(app::phase_of(phases, arguments.phase).recipe, registries, world_size)
          .recipe;
  const auto estimates = app::estimate_strategies(
      recipe, registries, app::ask_about(recipe, registries, world_size, arguments.nproc));
  if (arguments.as_json) {
    fmt::print("{}\n", app::memory_json(estimates));
    return;
  }
  for (const std::string& line : app::memory_table(estimates)) fmt::print("{}\n", line);
}

void print_fits(const MemoryArguments& arguments, const app::PhasedRecipe& phases,
                const app::Registries& registries) {
  const app::MemoryDevice& device = app::memory_device(arguments.device);
  const int world_size = world_size_of(arguments);
  std::vector<app::MemoryFit> fits;
  for (const app::Phase& phase : phases.phases) {
    if (!arguments.phase.empty() && phase.name != arguments.phase) continue;
    app::Recipe recipe = app::load_recipe(phase.recipe, registries, world_size).recipe;
    if (phase.recipe.value.train.precision == train::Precision::kAuto)
      recipe.train.precision = train::fastest_on_cuda(/*has_bfloat16=*/true).precision;
    fits.push_back(app::fit_memory(recipe, registries,
                                   app::ask_about(recipe, registries, world_size, arguments.nproc),
                                   device));
    fits.back().phase = phase.name;
    if (std::filesystem::is_directory(arguments.recipe))
      fits.back().samples_per_second = app::measured_speed(arguments.recipe, phase.name);
  }
  if (arguments.as_json) {
    fmt::print("{}\n", app::fit_json(fits, device));
    return;
  }
  for (const std::string& line : app::fit_tables(fits, device)) fmt::print("{}\n", line);
}

void print_memory(const MemoryArguments& arguments, const app::Registries& registries) {
  const bool is_run = std::filesystem::is_directory(arguments.recipe);
  const app::PhasedRecipe phases =
      app::load_phases(is_run ? arguments.recipe / app::kConfigFile : arguments.recipe,
                       arguments.overrides, registries.context(world_size_of(arguments)));
  if (!arguments.phase.empty()) static_cast<void>(app::phase_of(phases, arguments.phase));
  if (arguments.device.empty()) return print_strategies(arguments, phases, registries);
  print_fits(arguments, phases, registries);
}

void print_versions() {
  const checkpoint::Environment environment = checkpoint::current_environment(1, "cpu");
  const launch::Machine machine = launch::this_machine(launch::Environment::of_process());
  const tensor::CudaPlugin cuda = tensor::load_cuda_plugin();
  fmt::print("paceline {}\nLibTorch {} ({})\nhost {}: {} cores, {} GPUs\nCUDA: {}\n",
             base::kVersion, environment.libtorch, environment.instruction_set, machine.host_name,
             machine.cores, machine.gpus, cuda.handle ? "plug-in loaded" : cuda.reason);
}

}  // namespace

int run_info(const std::vector<std::string>& arguments, const app::Registries& registries) {
  MemoryArguments memory;
  CLI::App app("Show versions and what this machine offers.", "info");
  const CLI::App* asks_memory = add_memory(app, memory);
  ModelArguments model;
  const CLI::App* asks_model = add_model(app, model);
  set_footer(app);
  if (!parse_arguments(app, arguments, registries)) return 0;
  if (*asks_memory) {
    print_memory(memory, registries);
  } else if (*asks_model) {
    print_model(model, registries);
  } else {
    print_versions();
  }
  return 0;
}

}  // namespace paceline::cli
