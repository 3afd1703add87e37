#include "paceline/dataset_tools/ct/ct_part.h"

#include "paceline/base/error.h"
#include "paceline/base/hash.h"
#include "paceline/dataset_tools/ct/ct_layout.h"

namespace paceline::dataset_tools {

void CtPart::write(base::FileSystem& files, const std::filesystem::path& path,
                   const CtPatient& patient, const CtCubes& cubes) {
  std::string text = to_json(patient) + "\n";
  for (std::size_t array = 0; array < cubes.num_arrays(); ++array) text += cubes.bytes(array);
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
  const std::vector<CtArrayLayout> layouts = ct_array_layouts(settings);
  if (part.patient_.hashes.size() != layouts.size()) return std::nullopt;
  for (std::size_t array = 0; array < layouts.size(); ++array) {
    const std::uint64_t size = bytes_of(layouts[array]);
    if (rest.size() < size) return std::nullopt;
    part.values_.push_back(rest.substr(0, size));
    if (base::xxh3_128_hex(part.values_.back()) != part.patient_.hashes[array]) return std::nullopt;
    rest.remove_prefix(size);
  }
  if (!rest.empty()) return std::nullopt;
  return part;
}

}  // namespace paceline::dataset_tools
