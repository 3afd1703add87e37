#pragma once

#include "paceline/config/component.h"
#include "paceline/config/node.h"

#include <optional>
#include <string>
#include <string_view>

namespace paceline::config {

/// What to write instead of a key that is not ours but another trainer's, with the user's value put
/// in: "write train.duration=90ep". Nothing if the name is not known. `algorithms`: those that a
/// recipe can add, or nullptr; `world_size` 0: unknown.
std::optional<std::string> foreign_key_advice(std::string_view section, std::string_view key,
                                              const Node& value, const ComponentCatalog* algorithms,
                                              int world_size);

/// The same for an option: "--sync-bn", "-b", "--lr=0.1"; `value` is the argument after it, if any.
std::optional<std::string> foreign_option_advice(std::string_view option, std::string_view value,
                                                 const ComponentCatalog* algorithms,
                                                 int world_size);

/// Our value of a key for another trainer's: "fp16" for precision 16-mixed, "ddp" for strategy
/// ddp_spawn. The key's last part decides. Nothing if the value is not known.
std::optional<std::string> translate_value(std::string_view key, std::string_view value);

}  // namespace paceline::config
