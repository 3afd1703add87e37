#pragma once

#include "paceline/base/error.h"

#include <functional>
#include <string>

#include <gtest/gtest.h>

namespace paceline::checkpoint {

/// What the CheckpointError says that `work` throws.
inline std::string message_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const base::CheckpointError& error) {
    return error.what();
  }
  ADD_FAILURE() << "no CheckpointError was thrown";
  return {};
}

}  // namespace paceline::checkpoint
