#pragma once

#include "paceline/app/session.h"
#include "paceline/launch/rank_info.h"

#include <functional>
#include <memory>

namespace paceline::cli {

/// What every command that trains or evaluates needs, set up in the right order: signals before
/// threads, the CUDA plug-in before tensors, threads before work, peers before the model. Leaves
/// the group in order when the work returns. Returns what the work returned.
int run_as_rank(const app::Registries& registries,
                const std::function<int(const app::SessionContext& context)>& work);

}  // namespace paceline::cli
