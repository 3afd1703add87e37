#pragma once

#include "paceline/app/session.h"
#include "paceline/app/train_request.h"

namespace paceline::app {

/// Trains, phase after phase if the recipe has some; every rank must call it. Returns the
/// process's exit code. Throws base::Error.
int run_training(const TrainRequest& request, const SessionContext& context);

}  // namespace paceline::app
