#pragma once

#include "paceline/data/dataset/dataset.h"
#include "paceline/data/dataset/field.h"
#include "paceline/dataset_tools/ct/xray_picture.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::dataset_tools {

/// A patient of whom there are X-rays alone.
struct XrayPatient {
  std::string name;                               ///< as the user calls it: that of the folder
  std::vector<std::filesystem::path> views = {};  ///< in the order of the angles
};

/// The patients that folders hold, by name: a folder ID with files of find_view() in it, or folders
/// of such folders. Throws DataError, with the cure, for a folder without patients, a patient
/// without a view or with several files for one, and two of one name.
std::vector<XrayPatient> list_xray_patients(std::span<const std::filesystem::path> folders,
                                            std::span<const double> angles);

/// The patient of whom these are the views, by their angles. Throws ConfigError, with the cure, for
/// one that is missing or not among `angles`.
XrayPatient xray_patient(const std::map<double, std::filesystem::path>& views,
                         std::span<const double> angles);

/// The X-rays of patients as CtMaker makes them of those of a CtDataset: `xrays` [views, size,
/// size], float32 in [-1, 1].
class XrayPatients final : public data::Dataset {
 public:
  /// What X-rays are, for all patients.
  struct Form {
    std::vector<double> angles;
    CtXraySettings settings;
    data::SampleConstants constants;
    ReadDicomXray read_dicom;
  };

  /// Reads every picture, so that none is found bad when others are done. Throws as make_xray().
  XrayPatients(std::vector<XrayPatient> patients, Form form);

  std::int64_t size() const override { return std::ssize(patients_); }
  void get(std::int64_t index, data::StoredSample& sample) const override;
  std::vector<data::FieldSpec> stored_fields() const override;
  data::SampleConstants constants() const override { return form_.constants; }
  std::string name(std::int64_t index) const override { return patient(index).name; }
  std::string describe(std::int64_t index) const override;
  std::string fingerprint() const override { return fingerprint_; }

 private:
  const XrayPatient& patient(std::int64_t index) const {
    return patients_[static_cast<std::size_t>(index)];
  }
  /// Of all views.
  std::vector<std::uint16_t> read(std::int64_t index) const;

  std::vector<XrayPatient> patients_;
  Form form_;
  std::string fingerprint_;
};

}  // namespace paceline::dataset_tools
