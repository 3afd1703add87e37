#pragma once

#include "paceline/base/file.h"
#include "paceline/dataset_tools/ct/ct_cubes.h"
#include "paceline/dataset_tools/ct/ct_manifest.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace paceline::dataset_tools {

/// The bytes of a cube.
std::uint64_t cube_bytes(std::int64_t side);

/// A finished patient's cubes until the arrays are put together: a line of JSON, which is the
/// patient, and the bytes of all cubes.
class CtPart {
 public:
  /// Writes it whole or not at all. Throws FileError.
  static void write(base::FileSystem& files, const std::filesystem::path& path,
                    const CtPatient& patient, const CtCubes& cubes);
  /// Nothing if there is no such file, or one that is damaged.
  static std::optional<CtPart> open(const std::filesystem::path& path, const CtSettings& settings);

  const CtPatient& patient() const { return patient_; }
  /// Of the side with this place in the settings. Valid while this lives.
  std::string_view cube(std::size_t side) const { return cubes_[side]; }

 private:
  CtPatient patient_;
  std::shared_ptr<const base::MappedFile> file_;
  std::vector<std::string_view> cubes_;
};

}  // namespace paceline::dataset_tools
