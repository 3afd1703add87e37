#pragma once

#include "paceline/data/ct/ct_volume.h"

#include <filesystem>
#include <string>

namespace paceline::data {

/// What libpaceline_ct.so gives: files of scans, whose libraries only the making of data sets
/// needs.
class CtPlugin {
 public:
  virtual ~CtPlugin() = default;
  /// Reads one NIfTI-1 or NIfTI-2 file, plain or gzipped. The affine is the sform, else the qform.
  /// `name` stands for the file in messages, as its path may say who the patient is. Throws
  /// DataError with cause and cure.
  virtual CtVolume read_nifti(const std::filesystem::path& path, const std::string& name) const = 0;
};

/// Loads the plug-in, if it is not loaded yet: $PACELINE_CT_PLUGIN, else ../lib/libpaceline_ct.so
/// beside the program. Throws ConfigError that says why that is not possible.
const CtPlugin& load_ct_plugin();

/// To be raised with every change of a class that the plug-in and the program share.
inline constexpr int kCtPluginAbi = 1;
/// `extern "C" const CtPlugin* paceline_ct_plugin(int abi)` of the plug-in; nullptr if it was built
/// with another one.
inline constexpr const char* kCtPluginEntry = "paceline_ct_plugin";

}  // namespace paceline::data
