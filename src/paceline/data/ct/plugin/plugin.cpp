#include "paceline/data/ct/ct_plugin.h"
#include "paceline/data/ct/plugin/dicom_series.h"
#include "paceline/data/ct/plugin/dicom_xray.h"
#include "paceline/data/ct/plugin/nifti_file.h"

namespace paceline::data {
namespace {

class Plugin final : public CtPlugin {
 public:
  CtVolume read_nifti(const std::filesystem::path& path, const std::string& name) const override {
    return read_nifti_file(path, name);
  }
  CtVolume read_dicom_series(std::span<const std::filesystem::path> files, SeriesChoice choice,
                             const std::string& name) const override {
    return read_dicom_files(files, choice, name);
  }
  XrayPicture read_dicom_xray(const std::filesystem::path& path,
                              const std::string& name) const override {
    return read_xray_file(path, name);
  }
};

}  // namespace
}  // namespace paceline::data

/// What the program looks for (ct_plugin.h).
extern "C" __attribute__((visibility("default"))) const paceline::data::CtPlugin*
paceline_ct_plugin(int abi) {
  static const paceline::data::Plugin plugin;
  return abi == paceline::data::kCtPluginAbi ? &plugin : nullptr;
}
