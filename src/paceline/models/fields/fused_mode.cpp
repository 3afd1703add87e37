#include "paceline/models/fields/fused_mode.h"

#include "paceline/base/error.h"
#include "paceline/nn/rerun.h"

namespace paceline::models {

std::optional<c10::ScalarType> choose_fused(FusedMode mode,
                                            std::optional<c10::ScalarType> possible) {
  if (mode == FusedMode::kOff) return std::nullopt;
  const bool keeps_matmuls = nn::Rerun::keeps_matmuls();  // which a block of one node cannot
  if (mode == FusedMode::kOn && keeps_matmuls) {
    throw base::ConfigError(
        "fused: on does not go with train.activation_checkpointing.keep: matmuls: use fused: auto");
  }
  if (!possible && mode == FusedMode::kOn) {
    throw base::ConfigError(
        "fused: on needs inputs and weights of one type on one device, and layers that no "
        "algorithm has changed: use fused: auto");
  }
  return keeps_matmuls ? std::nullopt : possible;
}

}  // namespace paceline::models
