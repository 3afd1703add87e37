#include "paceline/dataset_tools/ct/patient_split.h"

#include "paceline/base/file.h"
#include "paceline/base/json.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::dataset_tools {
namespace {

TEST(PatientSplitGolden, IsThatOfPythonsHmac) {
  const auto cases =
      base::parse_json(base::read_file(PACELINE_GOLDEN_DIR "/ct/patient_split.json"));
  ASSERT_EQ(cases.size(), 132);
  for (const auto& expected : cases) {
    const auto patient = expected["patient"].get<std::string>();
    const auto seed = expected["seed"].get<std::uint64_t>();
    EXPECT_EQ(patient_code(patient, seed), expected["code"].get<std::string>());
    EXPECT_EQ(name_of(split_of_patient(patient, seed)), expected["split"].get<std::string>());
  }
}

}  // namespace
}  // namespace paceline::dataset_tools
