// Headers of NIfTI-1 files against nibabel; see make_nifti.py.

#include "paceline/volume/nifti_writer.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::volume {
namespace {

using nlohmann::json;

float float_at(const std::string& bytes, std::size_t place) {
  float value = 0;
  std::memcpy(&value, bytes.data() + place, sizeof(value));
  return value;
}

TEST(GoldenNiftiWriter, DescribesAffinesAsNibabelDoes) {
  const json golden = json::parse(std::ifstream(std::string(PACELINE_GOLDEN_DIR) + "/nifti.json"));
  for (const json& each : golden["cases"]) {
    const auto affine = each["affine"].get<Affine>();
    const std::vector<float> values(24);
    const std::string bytes = nifti_bytes({{2, 3, 4}, affine, values});
    const auto qform = each["qform"].get<std::vector<double>>();
    const double square = qform[0] * qform[0] + qform[1] * qform[1] + qform[2] * qform[2];
    // Of half a turn either sign is the same rotation.
    const bool is_half_turn = square > 1 - 1e-6;
    double sign = 1;
    for (std::size_t i = 0; i < 3 && is_half_turn; ++i) {
      if (std::abs(qform[i]) > 0.5)
        sign = static_cast<double>(float_at(bytes, 256 + 4 * i)) * qform[i] < 0 ? -1 : 1;
    }
    for (std::size_t i = 0; i < 6; ++i)
      EXPECT_NEAR(float_at(bytes, 256 + 4 * i), i < 3 ? sign * qform[i] : qform[i], 1e-6)
          << each.dump() << " " << i;
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_NEAR(float_at(bytes, 76 + 4 * i), qform[6 + i], 1e-6) << each.dump() << " " << i;
    for (std::size_t row = 0; row < 3; ++row) {
      for (std::size_t column = 0; column < 4; ++column)
        EXPECT_NEAR(float_at(bytes, 280 + 16 * row + 4 * column), affine.at(row).at(column), 1e-4);
    }
  }
}

}  // namespace
}  // namespace paceline::volume
