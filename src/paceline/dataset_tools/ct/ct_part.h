#pragma once

#include "paceline/base/file.h"
#include "paceline/dataset_tools/ct/ct_cubes.h"
#include "paceline/dataset_tools/ct/ct_manifest.h"

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace paceline::dataset_tools {

/// What is made of a patient until the arrays are put together: a line of JSON, which is the
/// patient, and the bytes for all arrays.
class CtPart {
 public:
  /// Writes it whole or not at all. Throws FileError.
  static void write(base::FileSystem& files, const std::filesystem::path& path,
                    const CtPatient& patient, const CtCubes& cubes);
  /// Nothing if there is no such file, or one that is damaged.
  static std::optional<CtPart> open(const std::filesystem::path& path, const CtSettings& settings);

  const CtPatient& patient() const { return patient_; }
  /// What goes into one of ct_array_layouts(). Valid while this lives.
  std::string_view values(std::size_t array) const { return values_[array]; }

 private:
  CtPatient patient_;
  std::shared_ptr<const base::MappedFile> file_;
  std::vector<std::string_view> values_;
};

}  // namespace paceline::dataset_tools
