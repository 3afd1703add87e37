#pragma once

#include "paceline/config/schema.h"

#include <array>
#include <cstdint>
#include <optional>

namespace c10 {
enum class ScalarType : std::int8_t;
}

namespace paceline::models {

/// When a block runs as one autograd node instead of one per operation.
enum class FusedMode {
  kAuto,  ///< where it applies: unless an activation checkpoint keeps matmuls
  kOn,    ///< always; ConfigError where it does not apply
  kOff,
};

/// The type in which a block computes as one node; nothing: it runs operation by operation.
/// `possible` is the block's own answer for an input.
std::optional<c10::ScalarType> choose_fused(FusedMode mode,
                                            std::optional<c10::ScalarType> possible);

template <class Config>
constexpr auto fused_field() {
  return config::field(&Config::fused, "fused",
                       "Run a block as one autograd node: auto (where it applies), on or off.",
                       config::MayChangeOnResume{});
}

}  // namespace paceline::models

template <>
struct paceline::config::EnumNames<paceline::models::FusedMode> {
  static constexpr std::array names{
      EnumName{paceline::models::FusedMode::kAuto, "auto"},
      EnumName{paceline::models::FusedMode::kOn, "on"},
      EnumName{paceline::models::FusedMode::kOff, "off"},
  };
};
