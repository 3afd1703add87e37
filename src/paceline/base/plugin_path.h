#pragma once

#include <filesystem>

namespace paceline::base {

/// A library that programs load when they need it.
struct Plugin {
  const char* variable;   ///< of the environment: where it is
  const char* file_name;  ///< of it in ../lib beside the program, where the variable says nothing
};

inline constexpr Plugin kRemotePlugin{"PACELINE_REMOTE_PLUGIN", "libpaceline_remote.so"};
inline constexpr Plugin kCtPlugin{"PACELINE_CT_PLUGIN", "libpaceline_ct.so"};
inline constexpr Plugin kCudaPlugin{"PACELINE_CUDA_PLUGIN", "libpaceline_cuda.so"};

std::filesystem::path plugin_path(const Plugin& plugin);

}  // namespace paceline::base
