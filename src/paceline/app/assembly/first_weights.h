#pragma once

#include "paceline/app/recipe/builtin.h"
#include "paceline/app/recipe/recipe.h"
#include "paceline/base/file.h"
#include "paceline/base/interruption.h"
#include "paceline/comm/communicator.h"

#include <string>
#include <vector>

namespace paceline::app {

/// Makes model.pretrained the path of the weights on this rank's machine, if the recipe has it:
/// those of elsewhere are downloaded by the first rank of each machine, unless a cache has them;
/// runs and checkpoints are found and verified by rank 0. Has what was done to their network done
/// to the recipe's, and images prepared as for them where the recipe leaves that open
/// (data.preprocessing); rank 0 warns where it does not. Returns what a user should know. Every
/// rank must call it. Throws on all ranks if it fails on one; ConfigError also if machines have got
/// different weights.
std::vector<std::string> find_first_weights(const Registries& registries,
                                            comm::Communicator& communicator,
                                            base::FileSystem& files,
                                            const base::Interruption& interruption, Recipe& recipe);

/// Has images prepared as for the weights, as far as that is known without a network. False if only
/// whoever publishes them knows. Throws ConfigError, CheckpointError.
bool take_known_preprocessing(const Registries& registries, Recipe& recipe);

/// Whether model.pretrained names weights of elsewhere; throws ConfigError if it names them
/// wrongly, as far as that is known without a network.
bool check_weight_source(const Recipe& recipe);

}  // namespace paceline::app
