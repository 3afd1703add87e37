#pragma once

#include "paceline/app/phase_run.h"
#include "paceline/app/recipe/builtin.h"
#include "paceline/app/resume.h"
#include "paceline/app/run_directory/find_checkpoint.h"
#include "paceline/app/run_directory/run_directory.h"
#include "paceline/app/session.h"
#include "paceline/base/hash.h"
#include "paceline/base/interruption.h"
#include "paceline/base/log.h"
#include "paceline/checkpoint/reader.h"
#include "paceline/checkpoint/weights/weights.h"
#include "paceline/config/bind.h"
#include "paceline/config/parse.h"
#include "paceline/train/trainer.h"
#include "rank/app/pairs/methods.h"
#include "support/run_ranks.h"
#include "support/temp_folder.h"
#include "support/unsynced_file_system.h"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace paceline::test {

/// Matches a text that has all of these in it.
inline ::testing::Matcher<std::string> all_of(const std::vector<std::string>& told) {
  std::vector<::testing::Matcher<std::string>> parts;
  for (const std::string& part : told) parts.emplace_back(::testing::HasSubstr(part));
  return ::testing::AllOfArray(parts);
}

/// Trains recipes of methods with ranks as threads, in a folder of its own.
class MethodRun {
 public:
  const app::Registries& registries() const { return *registries_; }
  app::Registries& registries() { return *registries_; }

  /// Of several overrides of one key the last counts.
  app::LoadedRecipe load(const Overrides& all, int world_size) {
    Overrides overrides = last_of_each_key(all);
    constexpr std::string_view kFolder = "{folder}";
    for (std::string& override : overrides) {
      const std::size_t at = override.find(kFolder);
      if (at == std::string::npos) continue;
      override.replace(at, kFolder.size(), folder_.path().string());
      write_weights();
    }
    return app::load_recipe(folder_.write("recipe.yaml", kRecipeOfMethods), overrides, *registries_,
                            world_size);
  }

  /// Trains to the end in a run directory, from a checkpoint on if one is named.
  void train(const app::LoadedRecipe& loaded, const std::string& run, int world_size,
             const std::string& from = "") {
    run_ranks(world_size, [&](comm::Communicator& communicator) {
      const app::RunDirectory directory(app::RunPlace{.wanted = folder_.path() / run},
                                        /*is_resuming=*/false, communicator, files_);
      app::Session session(loaded.recipe, {*registries_, communicator, files_, interruption_, 1});
      std::unique_ptr<checkpoint::CheckpointReader> reader;
      if (!from.empty()) {
        reader =
            app::open_resumed((folder_.path() / from).string(), directory, files_, communicator);
        session.resume(*reader);
      }
      session.attach(directory, loaded.resolved,
                     reader ? std::optional(reader->directory()) : std::nullopt);
      session.trainer().fit();
    });
  }

  checkpoint::CheckpointReader checkpoint_of(const std::string& run) const {
    return checkpoint::CheckpointReader(app::find_checkpoint(folder_.path() / run));
  }

  /// Hashes of all tensors of a run's last checkpoint (weights, buffers, state of the optimizer,
  /// what algorithms own), and all else that it holds but for the time that it took.
  std::map<std::string, std::string> remains_of(const std::string& run) const {
    std::map<std::string, std::string> remains = hashes_of(run);
    nlohmann::json state = checkpoint_of(run).manifest().state;
    state["clock"].erase("elapsed_s");
    remains["state"] = state.dump();
    return remains;
  }

  /// Of the tensors alone.
  std::map<std::string, std::string> hashes_of(const std::string& run) const {
    std::map<std::string, std::string> hashes;
    checkpoint::CheckpointReader reader = checkpoint_of(run);
    for (const auto& record : reader.manifest().tensors) {
      const at::Tensor data = reader.tensor(record.name);
      hashes[record.name] =
          base::xxh3_128_hex({static_cast<const char*>(data.const_data_ptr()), data.nbytes()});
    }
    return hashes;
  }

 private:
  static Overrides last_of_each_key(const Overrides& all) {
    const auto key_of = [](const std::string& override) {
      const std::size_t begin = override.find_first_not_of('+');
      return override.substr(begin, override.find('=') - begin);
    };
    Overrides kept;
    for (const std::string& override : all) {
      std::erase_if(kept, [&](const auto& other) { return key_of(other) == key_of(override); });
      kept.push_back(override);
    }
    return kept;
  }

  /// "teacher" and "pretrained", which has the recipe's network.
  void write_weights() {
    write_weights("teacher", "{layers: [1], width: 8, num_classes: 5}");
    write_weights("pretrained", "{layers: [1, 1, 1], width: 8, num_classes: 5}");
  }
  void write_weights(const std::string& name, const std::string& options) {
    const auto network = registries_->models.build(config::bind_component(
        *registries_->models.find("resnet18"), config::parse_value(options, name),
        registries_->context(/*world_size=*/1)));
    network->initialize(7);
    checkpoint::export_weights(files_, folder_.path() / (name + ".safetensors"),
                               checkpoint::named_tensors(*network));
  }

  std::unique_ptr<app::Registries> registries_ = app::make_registries();
  TempFolder folder_;
  UnsyncedFileSystem files_;
  base::Interruption interruption_;
  base::LogRedirection quiet_{[](base::LogLevel, std::string_view) {}};
};

}  // namespace paceline::test
