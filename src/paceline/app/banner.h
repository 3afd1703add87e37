#pragma once

#include "paceline/app/session.h"

#include <string>
#include <vector>

namespace paceline::app {

/// "1,000 training and 100 validation images".
std::string describe_data(const Session& session);

/// What a run is about to do, a fact per line: data, model, batches, learning rate, ranks, and how
/// each was derived.
std::vector<std::string> banner(const Recipe& recipe, const Session& session,
                                const SessionContext& context);

/// What `--dry-run` adds: parameters and floating-point operations. For one rank.
std::vector<std::string> plan(const Session& session);

/// And the memory that a rank needs under each strategy, which is measured: nothing else may
/// allocate tensors meanwhile. For one rank.
std::vector<std::string> memory_plan(const Recipe& recipe, const Registries& registries,
                                     const MemoryQuestion& question);

}  // namespace paceline::app
