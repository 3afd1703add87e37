#pragma once

#include <string>

#include <c10/util/env.h>

namespace paceline::comm {

/// Sets what a library reads from the environment. Writes only what differs: other threads may read
/// it at the same time.
inline void set_library_variable(const char* name, const std::string& value) {
  if (c10::utils::get_env(name) != value) c10::utils::set_env(name, value.c_str());
}

}  // namespace paceline::comm
