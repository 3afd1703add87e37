#include "paceline/app/phase_run.h"
#include "paceline/app/recipe/builtin.h"
#include "paceline/app/run_directory/find_checkpoint.h"
#include "paceline/app/session.h"
#include "paceline/base/error.h"
#include "paceline/base/hash.h"
#include "paceline/base/interruption.h"
#include "paceline/base/log.h"
#include "paceline/checkpoint/reader.h"
#include "paceline/checkpoint/weights/weights.h"
#include "paceline/nn/module_tree.h"
#include "paceline/train/run_state.h"
#include "paceline/train/trainer.h"
#include "rank/app/attached_session.h"
#include "rank/app/dataset_files.h"
#include "support/run_ranks.h"
#include "support/temp_folder.h"
#include "support/unsynced_file_system.h"

#include <algorithm>
#include <compare>
#include <map>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

// Everything that a recipe can name goes through this suite. The cases are read from the
// registries, so that a component is covered as soon as it is registered.

namespace paceline::app {
namespace {

namespace fs = std::filesystem;
using paceline::test::TempFolder;

constexpr std::int64_t kStopStep = 2;  // in the middle of an epoch, after an evaluation
constexpr std::int64_t kLastStep = 4;

const std::vector<std::string> kSharded{"train.precision=fp64", "parallel.strategy=fsdp"};

struct NamedCase {
  std::string kind;
  std::string name;

  friend auto operator<=>(const NamedCase&, const NamedCase&) = default;
  friend std::ostream& operator<<(std::ostream& out, const NamedCase& value) {
    return out << value.kind << ' ' << value.name;
  }
};

using Settings = std::map<std::string, std::string>;

/// Stands for the folder of a test's files.
constexpr std::string_view kFolder = "{folder}";

struct Needs {
  Settings own = {};                           ///< of the component, with kFolder in paths
  std::vector<std::string> around = {};        ///< overrides of the recipe around it
  std::vector<Settings> refused_by_fsdp = {};  ///< {{}}: whatever its settings are
  std::string dataset = {};                    ///< whose files it reads; of a data set its own
};

/// Volumes of X-rays: what goes with each other.
const std::vector<std::string> kCascadeModel{
    "model=ct_cascade", "model.xray_size=16", "model.xray_dim=64",
    "model.stages=[{volume_size: 12, patch: 4, dim: 16, depth: 2, heads: 2}]"};
const std::vector<std::string> kCascadeTask{"task=ct_diffusion", "++task.sampling_steps=2"};
const std::vector<std::string> kCascadeData{"data=ct", "++data.xray_size=16",
                                            "data.image_size=null"};

std::vector<std::string> joined(std::vector<std::string> some,
                                const std::vector<std::string>& more) {
  some.insert(some.end(), more.begin(), more.end());
  return some;
}

/// What a component needs to do something within a few steps, and to do the same on any ranks.
const std::map<NamedCase, Needs> kNeeds{
    {{"algorithms", "blurpool"},
     {.around = {"model=resnet18", "model.layers=[1, 1]", "model.width=16", "data.size=32",
                 "data.image_size=32"}}},
    {{"algorithms", "colout"},  // of a network that takes images of any size
     {.own = {{"group", "2"}},
      .around = {"model=convnext_tiny", "model.dims=[8, 8, 8, 8]", "model.depths=[1, 1, 1, 1]",
                 "data.size=64", "data.image_size=64", "data.num_samples=16",
                 "data.global_batch_size=4"}}},
    {{"algorithms", "cutmix"},
     {.own = {{"group", "2"}}, .around = {"data.num_samples=16", "data.global_batch_size=4"}}},
    {{"algorithms", "cutout"},
     {.own = {{"group", "2"}}, .around = {"data.num_samples=16", "data.global_batch_size=4"}}},
    {{"algorithms", "distillation"},
     {.own = {{"teacher", "{name: resnet20, num_classes: 5}"},
              {"weights", "{folder}/teacher.safetensors"}}}},
    {{"algorithms", "ema"}, {.own = {{"evaluate", "average"}}}},
    {{"algorithms", "factorize"},
     {.own = {{"min_channels", "16"}, {"min_features", "5"}, {"latent_features", "2"}},
      .around = {"model=resnet18", "model.layers=[1, 1]", "model.width=16", "data.size=32",
                 "data.image_size=32"}}},
    {{"algorithms", "ghost_batchnorm"},
     {.own = {{"ghost_batch_size", "1"}},
      .around = {"model=resnet20", "data.num_samples=16", "data.global_batch_size=4"}}},
    {{"algorithms", "layer_freezing"},  // the second epoch trains half of it
     {.own = {{"freeze_start", "0"}}, .around = {"train.duration=2ep"}, .refused_by_fsdp = {{}}}},
    {{"algorithms", "lookahead"}, {.own = {{"interval", "3ba"}}}},
    {{"algorithms", "mixup"},
     {.own = {{"group", "2"}},  // else each rank mixes by itself
      .around = {"data.num_samples=16", "data.global_batch_size=4"}}},
    {{"algorithms", "plateau"},  // each evaluation is none better
     {.own = {{"patience", "0"}, {"threshold", "0.999"}, {"factor", "0.5"}}}},
    {{"algorithms", "sam"},
     {.own = {{"ascent", "global"}},  // else each rank goes its own way
      .refused_by_fsdp = {{{"ascent", "rank"}}}}},
    {{"algorithms", "selective_backprop"},  // else each rank chooses of its own microbatch
     {.own = {{"group", "2"}, {"start", "0"}, {"end", "1"}},
      .around = {"data.num_samples=16", "data.global_batch_size=4"}}},
    {{"algorithms", "squeeze_excite"},
     {.own = {{"latent_channels", "0.5"}, {"min_channels", "16"}},
      .around = {"model=resnet18", "model.layers=[1, 1]", "model.width=16", "data.size=32",
                 "data.image_size=32"}}},
    {{"algorithms", "stochastic_depth"},  // else each rank draws for its own microbatch
     {.own = {{"group", "2"}, {"drop_rate", "0.5"}, {"warmup", "2ba"}},
      .around = {"data.num_samples=16", "data.global_batch_size=4"}}},
    {{"algorithms", "swa"},  // stopped while it averages, and ends after the average was loaded
     {.own = {{"start", "1ba"}, {"end", "3ba"}, {"interval", "1ba"}}}},
    {{"callbacks", "copy_checkpoints"}, {.own = {{"to", "{folder}/to"}}}},
    {{"dataset", "mixture"},
     {.own = {{"parts",
               "[{name: synthetic, num_samples: 9, num_val_samples: 2, size: 16}, "
               "{name: synthetic, num_samples: 7, num_val_samples: 1, size: 16}]"}},
      .around = {"data.sampler=by_part", "++data.sampler.weights=[2, 1]",
                 "++data.sampler.places_per_epoch=14"}}},
    {{"dataset", "arrays"}, {.around = {"data.image_size=null"}}},  // they have the size they have
    {{"dataset", "ct"},
     {.own = {{"xray_size", "16"}, {"augment", "{flip: true, turn_degrees: 9, photons: 1e4}"}},
      .around = joined(kCascadeModel, joined(kCascadeTask, {"data.image_size=null"}))}},
    {{"loss", "jensen_shannon"},
     {.own = {{"num_views", "2"}},
      .around = {"data.sampler=repeated_augmentation", "++data.sampler.repeats=2",
                 "data.num_samples=16", "data.global_batch_size=4"}}},
    // Keys' biases have gradients of 0 but for rounding, which would be a whole step.
    {{"optimizer", "adafactor"}, {.around = {"optimizer.lr_scale={'*.qkv.bias': 0}"}}},
    {{"optimizer", "lion"}, {.around = {"optimizer.lr_scale={'*.qkv.bias': 0}"}}},
    {{"optimizer", "rmsprop_tf"}, {.own = {{"momentum", "0.9"}, {"centered", "true"}}}},
    {{"sampler", "weighted"}, {.own = {{"file", "{folder}/weights.txt"}}}},
    {{"model", "ct_cascade"},
     {.own = {{"xray_size", "16"},
              {"xray_dim", "64"},
              {"stages", "[{volume_size: 12, patch: 4, dim: 16, depth: 2, heads: 2}]"}},
      .around = joined(kCascadeTask, kCascadeData),
      .dataset = "ct"}},
    {{"task", "ct_diffusion"},
     {.own = {{"sampling_steps", "2"}, {"samples", "2"}},
      .around = joined(kCascadeModel, kCascadeData),
      .dataset = "ct"}},
    {{"task", "multi_label"},
     {.own = {{"metrics", "[average_precision, f1_macro]"}},
      .around = {"data=arrays", "data.image_size=null", "loss=binary_cross_entropy"}}},
    {{"transform", "color_jitter"},
     {.own = {{"brightness", "0.4"}, {"saturation", "0.4"}, {"contrast", "0.4"}, {"hue", "0.1"}}}},
    {{"transform", "elastic_transform"}, {.own = {{"sigma", "[1, 1]"}}}},
    {{"transform", "random_apply"}, {.own = {{"transforms", "[random_invert]"}}}},
    {{"transform", "random_choice"}, {.own = {{"transforms", "[random_invert, random_flip]"}}}},
    {{"transform", "random_crop"}, {.own = {{"padding", "2"}}}},
    {{"transform", "random_order"}, {.own = {{"transforms", "[random_invert, random_flip]"}}}},
};

/// Of every model that has such a setting: models of a family share one Config, in which these are
/// its size.
const Settings kModelSizes{
    {"img_size", "32"},    {"patch_size", "16"},     {"embed_dim", "48"},
    {"depth", "2"},        {"dims", "[8, 8, 8, 8]"}, {"depths", "[1, 1, 1, 1]"},
    {"width_mult", "0.1"}, {"depth_mult", "0.2"},    {"layers", "[1, 1]"},
    {"width", "16"},       {"widths", "[8, 8, 8]"}};

/// Larger models are not stopped and resumed: their checkpoints take seconds.
constexpr std::int64_t kLargeModel = 15'000'000;

bool is_map(const std::string& kind) {
  const config::FieldInfo* field = config::describe<Recipe>().find(kind);
  return field && field->type->kind == config::TypeKind::kMap;
}

Needs needs_of(const std::string& kind, const std::string& name) {
  const auto found = kNeeds.find({kind, name});
  return found == kNeeds.end() ? Needs{} : found->second;
}

/// The component before a crop that fixes the size, or behind it if its place is at the end.
std::string transforms_with(const config::ComponentEntry& entry, const Settings& settings) {
  std::string own = "{name: " + entry.name;
  for (const auto& [key, value] : settings) own += fmt::format(", {}: {}", key, value);
  if (entry.info->find("size")) own += ", size: 16";  // of the image that it gives
  own += "}";
  const std::string crop = "{name: center_crop, size: 16}";
  const bool is_last = entry.name == "normalize" || entry.name == "random_erasing";
  return fmt::format("data.train_transforms=[{}, {}]", is_last ? crop : own, is_last ? own : crop);
}

/// The overrides that put a component into the recipe.
std::vector<std::string> overrides_for(const std::string& kind, const config::ComponentEntry& entry,
                                       const Needs& needs) {
  std::vector<std::string> overrides = needs.around;
  if (kind == "transform") {
    overrides.push_back(transforms_with(entry, needs.own));
    return overrides;
  }
  std::string section = kind == "dataset" ? "data" : kind == "sampler" ? "data.sampler" : kind;
  if (is_map(kind)) {
    section += "." + entry.name;
    overrides.push_back("++" + section);
  } else {
    overrides.push_back(section + "=" + entry.name);
  }
  for (const auto& [key, value] : needs.own)
    overrides.push_back(fmt::format("++{}.{}={}", section, key, value));
  if (kind == "model") {
    for (const auto& [key, value] : kModelSizes) {
      if (entry.info->find(key)) overrides.push_back(fmt::format("{}.{}={}", section, key, value));
    }
    if (needs.dataset.empty())
      overrides.insert(overrides.end(), {"data.size=32", "data.image_size=32"});
  }
  return overrides;
}

std::vector<NamedCase> components(bool large) {
  std::vector<NamedCase> cases;
  const TempFolder folder;
  const fs::path recipe = folder.write("recipe.yaml", kRaggedVit);
  const auto registries = make_registries();
  for (const auto& [kind, catalog] : registries->catalogs()) {
    for (const auto& [name, entry] : catalog->entries()) {
      std::int64_t num_parameters = 0;
      if (kind == "model") {
        const auto loaded =
            load_recipe(recipe, overrides_for(kind, entry, needs_of(kind, name)), *registries, 1);
        const auto network = registries->models.build(loaded.recipe.model.network);
        for (const auto& named : nn::named_parameters(*network))
          num_parameters += named.tensor.numel();
      }
      if ((num_parameters > kLargeModel) == large) cases.push_back({kind, name});
    }
  }
  return cases;
}

std::string hash_of(const train::TrainState& state) {
  std::string hashes;
  for (const tensor::StateShard& shard : train::state_shards(state)) {
    const at::Tensor data = shard.data.contiguous();
    hashes +=
        fmt::format("{} {:x}\n", shard.name,
                    base::xxh3({static_cast<const char*>(data.const_data_ptr()), data.nbytes()}));
  }
  return hashes;
}

class EveryComponent : public ::testing::TestWithParam<NamedCase> {
 protected:
  void SetUp() override {
    folder_.write("weights.txt", "1\n2\n0\n1\n1\n");
    if (GetParam().name == "distillation") write_teacher();
    if (GetParam().name == "multi_label") paceline::test::write_arrays_of_sets(folder_);
    std::string dataset = needs().dataset;
    if (GetParam().kind == "dataset" && entry().info->find("path")) dataset = GetParam().name;
    if (dataset.empty()) return;
    const auto writer = paceline::test::kDatasetFiles.find(dataset);
    if (writer == paceline::test::kDatasetFiles.end())
      FAIL() << "write files for " << GetParam() << " in tests/rank/app/dataset_files.h";
    writer->second(folder_);
  }

  void write_teacher() const {
    const auto& entry = *registries_->models.find("resnet20");
    config::Node node = config::Node::map();
    node.set("num_classes", config::Node::scalar("5"));
    const auto teacher = registries_->models.build(
        config::bind_component(entry, node, registries_->context(/*world_size=*/1)));
    teacher->initialize(7);
    base::RealFileSystem files;
    checkpoint::export_weights(files, folder_.path() / "teacher.safetensors",
                               checkpoint::named_tensors(*teacher));
  }

  const config::ComponentEntry& entry() const {
    return *registries_->catalogs().at(GetParam().kind)->find(GetParam().name);
  }

  /// The recipe with the component in it.
  LoadedRecipe load(const Needs& needs, const std::vector<std::string>& more) const {
    std::vector<std::string> overrides = overrides_for(GetParam().kind, entry(), needs);
    if (fs::exists(folder_.path() / "data")) overrides.emplace_back("data.path={folder}/data");
    overrides.insert(overrides.end(), more.begin(), more.end());
    for (std::string& override : overrides) {
      const std::size_t at = override.find(kFolder);
      if (at != std::string::npos) override.replace(at, kFolder.size(), folder_.path().string());
    }
    return load_recipe(folder_.write("recipe.yaml", kRaggedVit), overrides, *registries_, 1);
  }
  LoadedRecipe load(const std::vector<std::string>& more = {}) const { return load(needs(), more); }

  const Needs& needs() const { return needs_; }

  /// Expects that fsdp refuses what it is said to refuse, and says whose fault it is. Whether it
  /// takes the rest.
  bool goes_sharded() {
    const auto names_both = ::testing::AllOf(::testing::HasSubstr(GetParam().name),
                                             ::testing::HasSubstr("strategy fsdp"));
    bool takes_rest = true;
    for (const Settings& settings : needs().refused_by_fsdp) {
      Needs refused = needs();
      for (const auto& [key, value] : settings) refused.own[key] = value;
      const LoadedRecipe loaded = load(refused, kSharded);
      const auto trained = [&] { train(loaded, "", 2, 1); };
      EXPECT_THAT(trained, ::testing::ThrowsMessage<base::ConfigError>(names_both));
      takes_rest = takes_rest && !settings.empty();
    }
    return takes_rest;
  }

  /// Trains up to a step in a run directory, from its checkpoint if it has one; in none if the name
  /// is empty.
  void train(const LoadedRecipe& loaded, const std::string& run, int world_size,
             std::int64_t last_step) {
    const bool is_resuming = fs::exists(folder_.path() / run);
    const bool is_sharded = loaded.recipe.parallel.strategy == ParallelStrategy::kFsdp;
    paceline::test::run_ranks(world_size, [&](comm::Communicator& communicator) {
      Session session(loaded.recipe, {*registries_, communicator, files_, interruption_, 1},
                      SessionChanges::at_most(last_step, loaded.recipe));
      std::unique_ptr<RunDirectory> directory;
      if (!run.empty()) {
        directory = std::make_unique<RunDirectory>(
            attach(session, folder_.path() / run, is_resuming, loaded, files_, communicator));
      }
      session.trainer().fit();
      EXPECT_EQ(session.state().clock.step, last_step);
      EXPECT_TRUE(std::isfinite(session.state().step_totals.mean_loss()));
      const std::vector<std::string> hashes =
          communicator.all_gather_text(hash_of(session.state()));
      if (is_sharded) return;
      EXPECT_THAT(hashes, ::testing::Each(hashes.front())) << "the ranks hold the same bits";
    });
  }

  /// The files of the newest checkpoint, its state without the time it took, and what was logged.
  std::map<std::string, std::string> remains_of(const std::string& run) const {
    std::map<std::string, std::string> remains;
    const fs::path path = find_checkpoint(folder_.path() / run);
    for (const auto& file : fs::directory_iterator(path)) {
      if (file.path().extension() == ".safetensors")
        remains[file.path().filename()] = base::xxh3_128_hex(base::read_file(file));
    }
    nlohmann::json state = checkpoint::CheckpointReader(path).manifest().state;
    state["clock"].erase("elapsed_s");
    remains["state"] = state.dump();
    std::istringstream metrics(base::read_file(folder_.path() / run / "metrics.jsonl"));
    for (std::string line; std::getline(metrics, line);) {
      const nlohmann::json logged = nlohmann::json::parse(line);
      for (const auto& [key, value] : logged.items()) {
        if (key != "wall_time" && !key.starts_with("time/") && !key.starts_with("throughput/"))
          remains["metrics"] += fmt::format("{}: {}, ", key, value.dump());
      }
      remains["metrics"] += "\n";
    }
    return remains;
  }

  bool has_batch_norm(const std::string& run) const {
    const checkpoint::CheckpointReader reader = checkpoint_of(run);
    return std::ranges::any_of(reader.manifest().tensors, [](const auto& tensor) {
      return tensor.name.ends_with("running_mean");
    });
  }

  /// Roundings are apart: the clipped norm of gradients is added up in another order. BatchNorm of
  /// the two values that a rank has of a late channel makes them 1 / sqrt(eps) as large, each time.
  void expect_close(const std::string& run, const std::string& other) const {
    const double tolerance = has_batch_norm(run) ? 1e-7 : 1e-10;
    auto one = checkpoint_of(run);
    auto two = checkpoint_of(other);
    for (const auto& tensor : two.manifest().tensors) {
      const at::Tensor apart = one.tensor(tensor.name) - two.tensor(tensor.name);
      EXPECT_LE(apart.abs().max().to(at::kDouble).item<double>(), tolerance) << tensor.name;
    }
  }

 private:
  checkpoint::CheckpointReader checkpoint_of(const std::string& run) const {
    return checkpoint::CheckpointReader(find_checkpoint(folder_.path() / run));
  }

  Needs needs_ = needs_of(GetParam().kind, GetParam().name);
  std::unique_ptr<Registries> registries_ = make_registries();
  TempFolder folder_;
  paceline::test::UnsyncedFileSystem files_;
  base::Interruption interruption_;
  base::LogRedirection quiet_{[](base::LogLevel, std::string_view) {}};
};

TEST_P(EveryComponent, ResumesToTheSameBits) {
  const LoadedRecipe loaded = load();
  train(loaded, "whole", 1, kLastStep);
  train(loaded, "stopped", 1, kStopStep);
  train(loaded, "stopped", 1, kLastStep);
  EXPECT_EQ(remains_of("stopped"), remains_of("whole"));
}

TEST_P(EveryComponent, TrainsAndResumesOnTwoRanksAsOnOne) {
  const LoadedRecipe loaded = load({"train.precision=fp64"});
  train(loaded, "two", 2, kLastStep);
  if (!has_batch_norm("two")) {  // which sees the batch of its own rank
    train(loaded, "one", 1, kLastStep);
    expect_close("one", "two");
  }
  if (!goes_sharded()) return;
  const LoadedRecipe sharded = load(kSharded);
  train(sharded, "sharded", 2, kLastStep);
  expect_close("sharded", "two");
  train(sharded, "stopped", 2, kStopStep);
  train(sharded, "stopped", 2, kLastStep);
  EXPECT_EQ(remains_of("stopped"), remains_of("sharded"));
}

TEST(ComponentNeeds, AreOfComponentsThatThereAre) {
  const auto registries = make_registries();
  const config::Catalogs catalogs = registries->catalogs();
  for (const auto& [component, needs] : kNeeds)
    EXPECT_TRUE(catalogs.at(component.kind)->find(component.name)) << component;
}

std::string test_name(const ::testing::TestParamInfo<NamedCase>& test) {
  return test.param.kind + "_" + test.param.name;
}

INSTANTIATE_TEST_SUITE_P(Registered, EveryComponent, ::testing::ValuesIn(components(false)),
                         test_name);

class LargeModel : public EveryComponent {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LargeModel);  // each family may be made small

TEST_P(LargeModel, TrainsAShardedStep) {
  const std::string strategy = goes_sharded() ? "fsdp" : "ddp";
  train(load({"parallel.strategy=" + strategy}), "", 2, 1);
}

INSTANTIATE_TEST_SUITE_P(Registered, LargeModel, ::testing::ValuesIn(components(true)), test_name);

}  // namespace
}  // namespace paceline::app
