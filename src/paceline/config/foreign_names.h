#pragma once

#include "paceline/config/node.h"

#include <optional>
#include <string>
#include <string_view>

namespace paceline::config {

/// What is known of the names that other programs use, for messages about keys that are not ours.
class ForeignNames {
 public:
  virtual ~ForeignNames() = default;

  /// What to write instead of such a key, with the user's value put in: "write
  /// train.duration=90ep". Nothing if the name is not known. `world_size` 0: unknown.
  virtual std::optional<std::string> key_advice(std::string_view section, std::string_view key,
                                                const Node& value, int world_size) const = 0;

  /// Our value of a key for another program's: "fp16" for precision 16-mixed, "ddp" for strategy
  /// ddp_spawn. Nothing if the value is not known.
  virtual std::optional<std::string> translate(std::string_view key,
                                               std::string_view value) const = 0;
};

}  // namespace paceline::config
