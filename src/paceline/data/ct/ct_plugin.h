#pragma once

#include "paceline/data/ct/ct_volume.h"

#include <filesystem>
#include <span>
#include <string>

namespace paceline::data {

/// What is taken where a patient has more than one CT series.
enum class SeriesChoice : std::uint8_t { kOnly, kLargest };

/// An X-ray picture.
struct XrayPicture {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<float> values = {};  ///< 0 is black, air, and 1 white; columns run fastest
};

/// What libpaceline_ct.so gives: files of scans, whose libraries only the making of data sets
/// needs.
class CtPlugin {
 public:
  virtual ~CtPlugin() = default;
  /// Reads one NIfTI-1 or NIfTI-2 file, plain or gzipped. The affine is the sform, else the qform.
  /// `name` stands for the file in messages, as its path may say who the patient is. Throws
  /// DataError with cause and cure.
  virtual CtVolume read_nifti(const std::filesystem::path& path, const std::string& name) const = 0;
  /// Reads the CT series that these DICOM files hold, one slice each, in whatever order; files of
  /// other modalities are passed over. Slices are ordered along their normal. Messages call a file
  /// by `name` and its place among `files`. Throws DataError with cause and cure: for more than one
  /// series unless `choice` says which, and for all that makes no even stack of slices.
  virtual CtVolume read_dicom_series(std::span<const std::filesystem::path> files,
                                     SeriesChoice choice, const std::string& name) const = 0;
  /// Reads a DICOM file of one X-ray picture (CR, DX, RF, RG, XA). What is black and white is said
  /// by its window, else by the range of numbers that it can store; MONOCHROME1 is inverted. Throws
  /// DataError with cause and cure.
  virtual XrayPicture read_dicom_xray(const std::filesystem::path& path,
                                      const std::string& name) const = 0;
};

/// Loads the plug-in, if it is not loaded yet: $PACELINE_CT_PLUGIN, else ../lib/libpaceline_ct.so
/// beside the program. Throws ConfigError that says why that is not possible.
const CtPlugin& load_ct_plugin();

/// To be raised with every change of a class that the plug-in and the program share.
inline constexpr int kCtPluginAbi = 2;
/// `extern "C" const CtPlugin* paceline_ct_plugin(int abi)` of the plug-in; nullptr if it was built
/// with another one.
inline constexpr const char* kCtPluginEntry = "paceline_ct_plugin";

}  // namespace paceline::data
