#include "paceline/app/run_directory/find_checkpoint.h"
#include "paceline/app/session.h"
#include "paceline/app/train_run.h"
#include "paceline/base/hash.h"
#include "paceline/base/log.h"
#include "paceline/checkpoint/reader.h"
#include "paceline/data/pack/packer.h"
#include "paceline/data/sources/image_folder.h"
#include "paceline/dataset_tools/synth.h"
#include "paceline/nn/module_tree.h"
#include "paceline/train/run_state.h"
#include "rank/app/attached_session.h"
#include "support/data/tar_files.h"
#include "support/run_ranks.h"
#include "support/temp_folder.h"
#include "support/unsynced_file_system.h"

#include <algorithm>
#include <ostream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

// Everything that a recipe can name goes through this suite. The cases are read from the
// registries, so that a component is covered as soon as it is registered.

namespace paceline::app {
namespace {

namespace fs = std::filesystem;
using paceline::test::TempFolder;

/// 14 images in batches of 5: an epoch has three steps, the last of them smaller.
constexpr const char* kRecipe = R"(
run:        {seed: 3}
model:      {name: vit, img_size: 16, patch_size: 8, embed_dim: 16, depth: 2, num_heads: 2}
data:       {name: synthetic, num_samples: 14, num_val_samples: 3, num_classes: 5, size: 16,
             image_size: 16, global_batch_size: 5, num_threads: 1}
train:      {duration: 90ep, eval_every: 2ba, grad_clip_norm: 1}
optimizer:  {name: sgd, lr: 0.05}
checkpoint: {every: 90ep, keep_best: 0}
loggers:    {jsonl: }
)";
constexpr std::int64_t kStopStep = 2;  // in the middle of an epoch, after an evaluation
constexpr std::int64_t kLastStep = 4;

/// Given to every component that has such a setting: what makes it small, or makes it do something.
const std::map<std::string, std::string> kSettings{
    {"img_size", "32"},    {"embed_dim", "48"},   {"depth", "2"},      {"padding", "2"},
    {"brightness", "0.4"}, {"saturation", "0.4"}, {"contrast", "0.4"}, {"hue", "0.1"},
};

/// What a component needs of the recipe around it.
const std::map<std::string, std::vector<std::string>> kNeeds{
    {"blurpool", {"model=resnet18", "data.size=32", "data.image_size=32"}},
    {"mixup",  // else each rank mixes by itself
     {"++algorithms.mixup.group=2", "data.num_samples=16", "data.global_batch_size=4"}},
    {"sam", {"++algorithms.sam.ascent=global"}},  // else each rank goes its own way
};

/// Larger models are not stopped and resumed: their checkpoints take seconds.
constexpr std::int64_t kLargeModel = 15'000'000;

struct NamedCase {
  std::string kind;
  std::string name;

  friend std::ostream& operator<<(std::ostream& out, const NamedCase& value) {
    return out << value.kind << ' ' << value.name;
  }
};

bool is_map(const std::string& kind) {
  const config::FieldInfo* field = config::describe<Recipe>().find(kind);
  return field && field->type->kind == config::TypeKind::kMap;
}

/// "key=value" for each of kSettings that the component has.
std::vector<std::string> settings_of(const config::ComponentEntry& entry,
                                     const std::string& separator) {
  std::vector<std::string> settings;
  for (const auto& [key, value] : kSettings) {
    if (entry.info->find(key)) settings.push_back(key + separator + value);
  }
  return settings;
}

/// The component before a crop that fixes the size, or behind it if its place is at the end.
std::string transforms_with(const config::ComponentEntry& entry) {
  std::string own = "{name: " + entry.name;
  for (const std::string& setting : settings_of(entry, ": ")) own += ", " + setting;
  if (entry.info->find("size")) own += ", size: 16";
  own += "}";
  const std::string crop = "{name: center_crop, size: 16}";
  const bool is_last = entry.name == "normalize" || entry.name == "random_erasing";
  return fmt::format("data.train_transforms=[{}, {}]", is_last ? crop : own, is_last ? own : crop);
}

/// The overrides that put a component into the recipe.
std::vector<std::string> overrides_for(const std::string& kind,
                                       const config::ComponentEntry& entry) {
  if (kind == "transform") return {transforms_with(entry)};
  std::string section = kind == "dataset" ? "data" : kind == "sampler" ? "data.sampler" : kind;
  std::vector<std::string> overrides;
  if (is_map(kind)) {
    section += "." + entry.name;
    overrides.push_back("++" + section);
  } else {
    overrides.push_back(section + "=" + entry.name);
  }
  for (const std::string& setting : settings_of(entry, "="))
    overrides.push_back(section + "." + setting);
  if (const auto needs = kNeeds.find(entry.name); needs != kNeeds.end())
    overrides.insert(overrides.end(), needs->second.begin(), needs->second.end());
  if (kind == "model") overrides.insert(overrides.end(), {"data.size=32", "data.image_size=32"});
  return overrides;
}

std::vector<NamedCase> components(bool large) {
  std::vector<NamedCase> cases;
  const TempFolder folder;
  const fs::path recipe = folder.write("recipe.yaml", kRecipe);
  const auto registries = make_registries();
  for (const auto& [kind, catalog] : registries->catalogs()) {
    for (const auto& [name, entry] : catalog->entries()) {
      std::int64_t num_parameters = 0;
      if (kind == "model") {
        const auto loaded = load_recipe(recipe, overrides_for(kind, entry), *registries, 1);
        const auto network = registries->models.build(loaded.recipe.model.network);
        for (const auto& named : nn::named_parameters(*network))
          num_parameters += named.tensor.numel();
      }
      if ((num_parameters > kLargeModel) == large) cases.push_back({kind, name});
    }
  }
  return cases;
}

/// Records of as many labels as the variant has, then 32 x 32 pixels of three colours.
std::string cifar_records(int count, std::size_t num_labels) {
  std::string records;
  for (int i = 0; i < count; ++i) {
    records += std::string(num_labels, static_cast<char>(i % 5));
    for (int byte = 0; byte < 3072; ++byte) records += static_cast<char>((i * 31 + byte * 7) % 251);
  }
  return records;
}

std::string class_names(int count) {
  std::string names;
  for (int i = 0; i < count; ++i) names += fmt::format("class{}\n", i);
  return names;
}

/// Five images of each class in each part.
void write_images(const fs::path& folder, int classes) {
  dataset_tools::SynthOptions options{.path = folder.string(), .classes = classes};
  options.train_per_class = options.val_per_class = 5;
  options.min_size = options.max_size = 24;
  dataset_tools::synthesize_image_folder(options);
}

/// The files of a data set that reads files. A new one of that kind is added here.
void write_dataset(const std::string& name, const TempFolder& folder) {
  if (name == "image_folder") {
    write_images(folder.path() / "data", 3);
  } else if (name == "packed") {
    write_images(folder.path() / "synth", 3);
    base::RealFileSystem files;
    for (const std::string split : {"train", "val"}) {
      const auto images = data::open_image_folder(folder.path() / "synth", split, "train");
      data::pack(*images, {.folder = folder.path() / "data" / split}, files);
    }
  } else if (name == "ilsvrc2012") {
    write_images(folder.path() / "synth", 3);
    int number = 10000000;
    for (const auto& entry : fs::directory_iterator(folder.path() / "synth/train")) {
      fs::create_directories(folder.path() / "data/val");
      const std::string wnid = fmt::format("n{}", ++number);
      const std::string class_name = entry.path().filename().string();
      data::write_tar(folder.path() / fmt::format("data/train/{}.tar", wnid),
                      data::folder_content(entry.path()));
      fs::rename(folder.path() / "synth/val" / class_name, folder.path() / "data/val" / wnid);
    }
  } else if (name == "webdataset") {
    write_images(folder.path() / "synth", 1);
    for (const std::string split : {"train", "val"}) {
      data::TarContent members;
      for (const auto& entry : fs::recursive_directory_iterator(folder.path() / "synth" / split)) {
        if (!entry.is_regular_file()) continue;
        const std::string key = fmt::format("{:04}", members.size());
        members.emplace_back(key + ".jpg", data::read_text(entry.path()));
        members.emplace_back(key + ".cls", std::to_string(members.size() % 3));
      }
      data::write_tar(folder.path() / fmt::format("data/{}-0000.tar", split), members);
    }
  } else if (name == "parquet") {
    fs::create_directories(folder.path() / "data");
    for (const std::string split : {"train", "validation"}) {
      fs::copy_file(fs::path(PACELINE_SOURCE_DIR) / "tests/golden/data/parquet/photos.parquet",
                    folder.path() / fmt::format("data/{}-0.parquet", split));
    }
  } else if (name == "mnist") {
    for (const std::string split : {"train", "t10k"}) {
      folder.write(fmt::format("data/{}-images-idx3-ubyte", split),
                   std::string("\0\0\x08\x03\0\0\0\x0E\0\0\0\x1C\0\0\0\x1C", 16) +
                       cifar_records(4, 0).substr(0, 14 * 28 * 28));
      folder.write(fmt::format("data/{}-labels-idx1-ubyte", split),
                   std::string("\0\0\x08\x01\0\0\0\x0E\0\1\2\3\0\1\2\3\0\1\2\3\0\1", 22));
    }
  } else if (name == "npy") {
    const auto array = [](const std::string& type, const std::string& shape) {
      const std::string dict =
          fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}\n", type, shape);
      return std::string("\x93NUMPY\1\0", 8) + static_cast<char>(dict.size()) + '\0' + dict;
    };
    for (const std::string split : {"train", "val"}) {
      folder.write(fmt::format("data/{}_images.npy", split),
                   array("|u1", "14, 32, 32, 3") + cifar_records(14, 0));
      folder.write(fmt::format("data/{}_labels.npy", split),
                   array("|u1", "14,") + std::string("\0\1\2\3\0\1\2\3\0\1\2\3\0\1", 14));
    }
  } else if (name == "cifar10") {
    for (int i = 1; i <= 5; ++i)
      folder.write(fmt::format("data/data_batch_{}.bin", i), cifar_records(3, 1));
    folder.write("data/test_batch.bin", cifar_records(3, 1));
    folder.write("data/batches.meta.txt", class_names(10));
  } else if (name == "cifar100") {
    folder.write("data/train.bin", cifar_records(14, 2));
    folder.write("data/test.bin", cifar_records(3, 2));
    folder.write("data/coarse_label_names.txt", class_names(20));
    folder.write("data/fine_label_names.txt", class_names(100));
  } else {
    FAIL() << "write files for the data set " << name << " here";
  }
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
  LoadedRecipe load(const std::vector<std::string>& more = {}) const {
    const auto& [kind, name] = GetParam();
    const config::ComponentEntry& entry = *registries_->catalogs().at(kind)->find(name);
    std::vector<std::string> overrides = overrides_for(kind, entry);
    if (kind == "dataset" && entry.info->find("path")) {
      write_dataset(name, folder_);
      overrides.push_back("data.path=" + (folder_.path() / "data").string());
    }
    if (kind == "sampler" && entry.info->find("file")) {
      const fs::path weights = folder_.write("weights.txt", "1\n2\n0\n1\n1\n");
      overrides.push_back("data.sampler.file=" + weights.string());
    }
    if (kind == "callbacks" && entry.info->find("to"))
      overrides.push_back(
          fmt::format("callbacks.{}.to={}", name, (folder_.path() / "to").string()));
    overrides.insert(overrides.end(), more.begin(), more.end());
    return load_recipe(folder_.write("recipe.yaml", kRecipe), overrides, *registries_, 1);
  }

  /// Trains up to a step in a run directory, from its checkpoint if it has one; in none if the name
  /// is empty.
  void train(const LoadedRecipe& loaded, const std::string& run, int world_size,
             std::int64_t last_step) {
    const bool is_resuming = fs::exists(folder_.path() / run);
    paceline::test::run_ranks(world_size, [&](comm::Communicator& communicator) {
      Session session(loaded.recipe, {*registries_, communicator, files_, interruption_, 1},
                      last_step);
      std::unique_ptr<RunDirectory> directory;
      if (!run.empty()) {
        directory = std::make_unique<RunDirectory>(
            attach(session, folder_.path() / run, is_resuming, loaded, files_, communicator));
      }
      session.fit();
      EXPECT_EQ(session.state().clock.step, last_step);
      EXPECT_TRUE(std::isfinite(session.state().step_totals.mean_loss()));
      const std::vector<std::string> hashes =
          communicator.all_gather_text(hash_of(session.state()));
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

  checkpoint::CheckpointReader checkpoint_of(const std::string& run) const {
    return checkpoint::CheckpointReader(find_checkpoint(folder_.path() / run));
  }

 private:
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

TEST_P(EveryComponent, TrainsOnTwoRanksAsOnOne) {
  const LoadedRecipe loaded = load({"train.precision=fp64"});
  train(loaded, "two", 2, kLastStep);
  auto two = checkpoint_of("two");
  const auto& tensors = two.manifest().tensors;
  if (std::any_of(tensors.begin(), tensors.end(),
                  [](const auto& tensor) { return tensor.name.ends_with("running_mean"); })) {
    return;  // BatchNorm sees the batch of its own rank
  }
  train(loaded, "one", 1, kLastStep);
  auto one = checkpoint_of("one");
  for (const auto& tensor : tensors) {
    EXPECT_TRUE(at::allclose(one.tensor(tensor.name), two.tensor(tensor.name), 0, 1e-10))
        << tensor.name;
  }
}

std::string test_name(const ::testing::TestParamInfo<NamedCase>& test) {
  return test.param.kind + "_" + test.param.name;
}

INSTANTIATE_TEST_SUITE_P(Registered, EveryComponent, ::testing::ValuesIn(components(false)),
                         test_name);

class LargeModel : public EveryComponent {};

TEST_P(LargeModel, TrainsAStep) { train(load(), "", 1, 1); }

INSTANTIATE_TEST_SUITE_P(Registered, LargeModel, ::testing::ValuesIn(components(true)), test_name);

}  // namespace
}  // namespace paceline::app
