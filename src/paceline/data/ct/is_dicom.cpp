#include "paceline/data/ct/is_dicom.h"

#include <array>
#include <fstream>
#include <string>
#include <string_view>

namespace paceline::data {

bool is_dicom(const std::filesystem::path& path) {
  const std::string ending = path.extension().string();
  if (ending == ".dcm" || ending == ".DCM") return true;
  constexpr std::streamoff kMagicPlace = 128;
  std::array<char, 4> magic{};
  std::ifstream stream(path, std::ios::binary);
  stream.seekg(kMagicPlace);
  return stream.read(magic.data(), magic.size()) &&
         std::string_view(magic.data(), magic.size()) == "DICM";
}

}  // namespace paceline::data
