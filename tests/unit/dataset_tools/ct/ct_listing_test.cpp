#include "paceline/dataset_tools/ct/ct_listing.h"

#include "paceline/base/error.h"
#include "support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::dataset_tools {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::ThrowsMessage;

TEST(CtListing, FindsFilesAndFoldersOfPatients) {
  const test::TempFolder folder;
  const std::vector<std::pair<std::string, std::string>> expected{{"anna", "anna.nii.gz"},
                                                                  {"ben", "ben.nii"},
                                                                  {"cleo", "cleo/cleo.nii.gz"},
                                                                  {"dora", "dora/scan.nii"},
                                                                  {"emil.1", "emil.1.nii"}};
  for (const auto& [patient, file] : expected) folder.write(file, "");
  folder.write("cleo/other.nii.gz", "");
  folder.write("cleo/cleo_pa_drr.png", "");
  folder.write("cleo/cleo_organs.nii.gz", "");
  folder.write("dora/scan_organs.nii.gz", "");
  folder.write("anna_organs.nii.gz", "");
  folder.write("labels/labels_organs.nii", "");
  folder.write("notes.txt", "");
  folder.write("empty/notes.txt", "");
  folder.write(".nii", "");
  folder.write(".hidden.nii", "");
  const CtListing listing = list_ct_patients(folder.path(), 5);
  EXPECT_EQ(listing.left_out, 4);
  ASSERT_EQ(listing.patients.size(), expected.size());
  for (const auto& [patient, file] : expected) {
    const auto found =
        std::ranges::find(listing.patients, patient_code(patient, 5), &ListedPatient::code);
    ASSERT_NE(found, listing.patients.end()) << patient;
    EXPECT_EQ(found->file, folder.path() / file);
    EXPECT_EQ(found->folder, file.find('/') == std::string::npos ? std::filesystem::path()
                                                                 : folder.path() / patient);
    EXPECT_EQ(found->split, split_of_patient(patient, 5));
    EXPECT_THAT(found->name,
                AllOf(HasSubstr(found->code), HasSubstr(" of 9)"), Not(HasSubstr(patient))));
  }
  EXPECT_TRUE(std::ranges::is_sorted(listing.patients, {}, &ListedPatient::code));
}

TEST(CtListing, FindsSlicesOfDicomInFoldersAndBelow) {
  const test::TempFolder folder;
  const std::string dicom = std::string(128, '\0') + "DICM";
  const std::vector<std::string> slices{"anna/CT/IM10", "anna/CT/IM9", "anna/b.dcm"};
  for (const std::string& slice : slices) folder.write(slice, dicom);
  folder.write("anna/c.dcm", "damaged");
  folder.write("anna/notes", std::string(128, '\0') + "DICN");
  folder.write("anna/.hidden/IM1", dicom);
  std::filesystem::create_directory_symlink(folder.path(), folder.path() / "anna" / "above");
  folder.write("ben/IM1", dicom);
  folder.write("ben/ben.nii.gz", "");
  folder.write("IM1", dicom);
  const CtListing listing = list_ct_patients(folder.path(), 5);
  EXPECT_EQ(listing.left_out, 1);
  ASSERT_EQ(listing.patients.size(), 2);
  const auto found = [&](const std::string& patient) {
    return *std::ranges::find(listing.patients, patient_code(patient, 5), &ListedPatient::code);
  };
  std::vector<std::filesystem::path> expected;
  for (const char* slice : {"CT/IM10", "CT/IM9", "b.dcm", "c.dcm"})
    expected.push_back(folder.path() / "anna" / slice);
  EXPECT_EQ(found("anna").slices, expected);
  EXPECT_EQ(found("anna").file, "");
  EXPECT_EQ(found("ben").file, folder.path() / "ben" / "ben.nii.gz");
  EXPECT_TRUE(found("ben").slices.empty());
}

TEST(CtListing, RefusesPatientsWithTwoScansWithoutTheirNames) {
  const test::TempFolder folder;
  folder.write("anna.nii", "");
  folder.write("anna/anna.nii.gz", "");
  EXPECT_THAT([&] { list_ct_patients(folder.path(), 0); },
              ThrowsMessage<base::DataError>(
                  AllOf(HasSubstr("are scans of one patient"), HasSubstr("(entry 1 of 2)"),
                        HasSubstr("(entry 2 of 2)"), Not(HasSubstr("anna")))));
  const test::TempFolder two;
  two.write("anna/first.nii", "");
  two.write("anna/second.nii", "");
  EXPECT_THAT([&] { list_ct_patients(two.path(), 0); },
              ThrowsMessage<base::DataError>(
                  AllOf(HasSubstr(patient_code("anna", 0) + " has 2 scans in its folder"),
                        Not(HasSubstr("anna")))));
}

TEST(CtListing, ArraysDoNotSayHowTheyLie) {
  const test::TempFolder folder;
  folder.write("anna/anna.npy", "");
  folder.write("anna/anna_pa_drr.png", "");
  EXPECT_THAT([&] { list_ct_patients(folder.path(), 0); },
              ThrowsMessage<base::DataError>(
                  AllOf(HasSubstr(patient_code("anna", 0) + " has an array and no scan"),
                        HasSubstr("store it as NIfTI"), Not(HasSubstr("anna")))));
}

TEST(CtListing, RefusesAFolderWithoutScans) {
  const test::TempFolder folder;
  EXPECT_THAT([&] { list_ct_patients(folder.path(), 0); },
              ThrowsMessage<base::ConfigError>(HasSubstr("holds no scans; expected ID.nii.gz")));
  EXPECT_THAT([&] { list_ct_patients(folder.path() / "absent", 0); },
              ThrowsMessage<base::DataError>(HasSubstr("No such file")));
}

}  // namespace
}  // namespace paceline::dataset_tools
