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

/// Sets that were prepared by another version are added to by this one. By Python's hmac.
TEST(PatientSplit, MovesNobodyFromVersionToVersion) {
  EXPECT_EQ(patient_code("LIDC-IDRI-0001", 0), "6c7458ecf21fccf1");
  EXPECT_EQ(split_of_patient("LIDC-IDRI-0001", 0), PatientSplit::kTrain);
  EXPECT_EQ(patient_code("7", 17), "bd6c6d80bde2c045");
  EXPECT_EQ(split_of_patient("7", 17), PatientSplit::kVal);
  EXPECT_EQ(patient_code("patient 1", 0), "c2f20973f3e64c4d");
  EXPECT_EQ(split_of_patient("patient 1", 0), PatientSplit::kTest);
  EXPECT_EQ(seed_mark(0), "a50f782640236d3c");
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
