#include "paceline/dataset_tools/ct/patient_split.h"

#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace paceline::dataset_tools {
namespace {

TEST(PatientSplit, SharesPatientsEightToOneToOne) {
  for (const std::uint64_t seed : {0, 1, 17}) {
    std::map<std::string_view, int> counts;
    constexpr int kPatients = 10000;
    for (int i = 0; i < kPatients; ++i)
      ++counts[name_of(split_of_patient("patient " + std::to_string(i), seed))];
    EXPECT_NEAR(counts["train"], 8000, 160);  // four standard deviations
    EXPECT_NEAR(counts["val"], 1000, 120);
    EXPECT_NEAR(counts["test"], 1000, 120);
  }
}

TEST(PatientSplit, ChangesWithTheSeed) {
  int moved = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::string patient = std::to_string(i);
    moved += split_of_patient(patient, 0) != split_of_patient(patient, 1) ? 1 : 0;
  }
  EXPECT_NEAR(moved, 340, 60);
}

TEST(PatientSplit, CodesAreShortAndTheirOwn) {
  std::set<std::string> codes;
  for (int i = 0; i < 1000; ++i) codes.insert(patient_code(std::to_string(i), 3));
  EXPECT_EQ(codes.size(), 1000);
  EXPECT_EQ(patient_code("name of somebody", 3).size(), 16);
  EXPECT_NE(patient_code("name of somebody", 3), patient_code("name of somebody", 4));
}

}  // namespace
}  // namespace paceline::dataset_tools
