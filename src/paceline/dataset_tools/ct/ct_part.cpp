#include "paceline/dataset_tools/ct/ct_part.h"

#include "paceline/base/error.h"
#include "paceline/base/hash.h"

namespace paceline::dataset_tools {

std::uint64_t cube_bytes(std::int64_t side) {
  return static_cast<std::uint64_t>(side * side * side) * sizeof(std::int16_t);
}

void CtPart::write(base::FileSystem& files, const std::filesystem::path& path,
                   const CtPatient& patient, const CtCubes& cubes) {
  std::string text = to_json(patient) + "\n";
  for (std::size_t side = 0; side < cubes.values.size(); ++side) text += cubes.bytes(side);
  base::write_file_atomically(files, path, text);
}

std::optional<CtPart> CtPart::open(const std::filesystem::path& path, const CtSettings& settings) {
  if (!std::filesystem::exists(path)) return std::nullopt;
  CtPart part;
  part.file_ = std::make_shared<const base::MappedFile>(path);
  std::string_view rest = part.file_->bytes();
  const std::size_t end = rest.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  try {
    part.patient_ = ct_patient_from_json(rest.substr(0, end));
  } catch (const base::DataError&) {
    return std::nullopt;
  }
  rest.remove_prefix(end + 1);
  if (part.patient_.hashes.size() != settings.sides.size()) return std::nullopt;
  for (std::size_t side = 0; side < settings.sides.size(); ++side) {
    const std::uint64_t size = cube_bytes(settings.sides[side]);
    if (rest.size() < size) return std::nullopt;
    part.cubes_.push_back(rest.substr(0, size));
    if (base::xxh3_128_hex(part.cubes_.back()) != part.patient_.hashes[side]) return std::nullopt;
    rest.remove_prefix(size);
  }
  if (!rest.empty()) return std::nullopt;
  return part;
}

}  // namespace paceline::dataset_tools
