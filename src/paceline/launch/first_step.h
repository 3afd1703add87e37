#pragma once

#include "paceline/launch/environment.h"
#include "paceline/launch/supervised_rank.h"

#include <cstdint>
#include <string_view>

namespace paceline::launch {

/// Names the descriptor, of a pipe, on which each rank of a detached run tells whoever has started
/// it that it trains.
inline constexpr std::string_view kFirstStepVariable = "PACELINE_FIRST_STEP_FD";

/// A rank's end of that pipe.
class FirstStepNotice {
 public:
  /// Takes the descriptor over, if the environment names a pipe; the rank's children do not get it.
  explicit FirstStepNotice(const Environment& environment);

  /// Writes a line with the step's number if somebody asked for it, once. Must be called with
  /// SIGPIPE ignored: whoever waited may be gone.
  void tell(std::int64_t step) noexcept;

 private:
  Descriptor pipe_;
};

}  // namespace paceline::launch
