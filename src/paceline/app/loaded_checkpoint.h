#pragma once

#include "paceline/app/assembly/data_assembly.h"
#include "paceline/app/recipe/recipe.h"
#include "paceline/app/session.h"
#include "paceline/checkpoint/reader.h"
#include "paceline/train/engine.h"
#include "paceline/train/run_context.h"
#include "paceline/train/train_state.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace paceline::app {

/// Which weights are to see which data.
struct EvalRequest {
  std::filesystem::path run_or_checkpoint;  ///< or an ExportedModel, see find_exported_weights()
  std::vector<std::string> overrides;
  std::string weights;  ///< as checkpoint::chosen_weights() takes them: "ema", "trained" or empty
  /// Opens images that are no validation data, and have the recipe's transforms; empty: the
  /// recipe's own. What of them cannot be read is skipped.
  std::function<std::unique_ptr<data::Dataset>()> open_images = {};
  /// The same of arrays that a network sees as they are stored, of which it needs no truth; empty:
  /// there are none. What is asked, by its recipe, for a network of other samples than images.
  std::function<std::unique_ptr<data::Dataset>(const Recipe& recipe)> open_arrays = {};
  /// Changes the recipe, overrides included, before anything is made of it; or empty.
  std::function<void(Recipe& recipe)> adapt = {};
  /// Gives the data's classes their labels, by the names of the checkpoint's; empty:
  /// data::align_classes().
  std::function<std::unique_ptr<data::Dataset>(std::unique_ptr<data::Dataset> dataset,
                                               const std::vector<std::string>& class_names)>
      align = {};
  /// Makes samples otherwise than the recipe says; or empty.
  std::function<std::shared_ptr<const data::SampleMaker>(const Recipe& recipe)> make_samples = {};
  std::int64_t num_views = 1;  ///< of a sample that go through the network at once
};

/// A checkpoint's weights in its network, or exported ones, and the data that it is to see.
struct LoadedCheckpoint {
  std::filesystem::path path;
  std::unique_ptr<checkpoint::CheckpointReader> reader;  ///< null of exported weights
  /// Which of the checkpoint's they are: an algorithm's name, or kTrainedWeights; empty of exported
  /// weights.
  std::string weights;
  std::vector<std::string> class_names;  ///< of the network; may be none
  std::int64_t step = 0;                 ///< that trained it
  Recipe recipe;                         ///< its own, with overrides
  DataPart part;       ///< of validation, or what the request opens, whose loader has started
  bool is_own = true;  ///< whether that is the recipe's, and not what the request opens
  train::TrainState state;
  std::unique_ptr<train::Engine> engine;
};

/// Opens the validation data of a checkpoint's own recipe (with overrides), whose classes go by the
/// names that the checkpoint gives them, and loads its weights into the network that its record of
/// surgery tells. Of exported weights, which lie on every machine, the recipe is what their
/// config.json says, and has no data. Every rank must call it. Throws base::Error.
LoadedCheckpoint load_checkpoint_with_data(const EvalRequest& request,
                                           const SessionContext& context);

/// For what is done with it.
train::RunContext evaluation_context(const Recipe& recipe, const SessionContext& context);

}  // namespace paceline::app
