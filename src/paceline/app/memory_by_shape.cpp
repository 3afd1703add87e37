#include "paceline/app/memory_by_shape.h"

#include "paceline/tensor/torch.h"
#include "paceline/train/precision.h"

namespace paceline::app {

nn::PassOptions pass_options(const Recipe& recipe, std::int64_t samples, bool is_on_gpu) {
  const auto bytes = [](at::ScalarType type) {
    return static_cast<std::int64_t>(c10::elementSize(type));
  };
  nn::PassOptions options{.samples = samples,
                          .width = bytes(train::storage_dtype(recipe.train.precision)),
                          .is_on_gpu = is_on_gpu};
  if (const auto autocast = train::autocast_dtype(recipe.train.precision))
    options.autocast = bytes(*autocast);
  if (const auto& checkpointing = recipe.train.activation_checkpointing) {
    options.checkpoint_every = checkpointing->every;
    options.kept = checkpointing->keep;
  }
  return options;
}

}  // namespace paceline::app
