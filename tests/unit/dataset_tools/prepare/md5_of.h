#pragma once

#include "paceline/dataset_tools/prepare/md5.h"

#include <string>

namespace paceline::dataset_tools {

inline std::string md5_of(const std::string& content) {
  Md5 md5;
  md5.update({reinterpret_cast<const std::uint8_t*>(content.data()), content.size()});
  return md5.finish();
}

}  // namespace paceline::dataset_tools
