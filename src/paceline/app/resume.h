#pragma once

#include "paceline/app/recipe/builtin.h"
#include "paceline/app/recipe/recipe.h"
#include "paceline/app/run_directory/run_directory.h"
#include "paceline/checkpoint/reader.h"
#include "paceline/comm/communicator.h"
#include "paceline/config/node.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace paceline::app {

/// The checkpoint that `resume` names ("auto", or a run or checkpoint), opened; null with "auto"
/// for a run that has not saved yet. Changes nothing but the name of a checkpoint whose replacement
/// never came. Every rank must call it; throws the same CheckpointError on all of them.
std::unique_ptr<checkpoint::CheckpointReader> open_resumed(const std::string& resume,
                                                           const RunDirectory& directory,
                                                           base::FileSystem& files,
                                                           comm::Communicator& communicator);

/// Has images prepared as the run of a checkpoint prepares them, where a recipe leaves it open; in
/// `resolved` too. What older runs took from nobody stays as usual for the data set.
void keep_preprocessing(const checkpoint::CheckpointReader& reader, const Registries& registries,
                        config::Node& resolved, Recipe& recipe);

/// Fits a recipe to the run that goes on from a checkpoint: where data.batch_size_per_rank and
/// another number of ranks would change the global batch, that of the run is kept. `resolved`, the
/// recipe as it was given, is what the next checkpoint is compared with, too. The network is that
/// of the checkpoint's record of surgery; algorithms that may come or go do so. Returns what is
/// otherwise than before, for people. Throws ConfigError that names all keys which must not change.
std::vector<std::string> fit_to_checkpoint(const checkpoint::CheckpointReader& reader,
                                           const Registries& registries, int world_size,
                                           const config::Node& resolved, Recipe& recipe);

/// Throws CheckpointError that names what a run was given then and is given now, unless these are
/// the same; what an older checkpoint does not tell is not compared.
void check_inputs(const checkpoint::CheckpointReader& reader,
                  const std::map<std::string, std::string>& inputs);

}  // namespace paceline::app
