// The plug-in hides its functions, so it is read through.
#include "paceline/base/error.h"
#include "paceline/data/ct/ct_plugin.h"
#include "support/data/mutations.h"
#include "support/data/nifti_bytes.h"
#include "support/temp_folder.h"

#include <cmath>
#include <limits>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using test::NiftiBytes;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::vector<std::int16_t> count_to(std::size_t count) {
  std::vector<std::int16_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), std::int16_t{-5});
  return numbers;
}

/// Of 2 x 3 x 4 voxels.
NiftiBytes sound_nifti(int version = 1) {
  NiftiBytes file{.version = version};
  file.set(count_to(24));
  return file;
}

CtVolume read_nifti_bytes(const std::string& bytes, const std::string& name = "scan.nii") {
  const test::TempFolder folder;
  return load_ct_plugin().read_nifti(folder.write("patient.nii", bytes), name);
}

std::string nifti_problem(const std::string& bytes) {
  try {
    read_nifti_bytes(bytes);
  } catch (const base::DataError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

MATCHER_P(SaysOfTheScan, what, "") {
  return ::testing::ExplainMatchResult(
      AllOf(StartsWith("scan.nii: "), HasSubstr(what), ::testing::Not(HasSubstr("patient"))), arg,
      result_listener);
}

TEST(NiftiFile, GivesSizesAffineAndValues) {
  for (const int version : {1, 2}) {
    NiftiBytes file = sound_nifti(version);
    file.slope = 2;
    file.intercept = -1000;
    for (const std::string& bytes : {file.bytes(), test::gzip_bytes(file.bytes())}) {
      const CtVolume volume = read_nifti_bytes(bytes);
      EXPECT_EQ(volume.sizes, (std::array<std::int64_t, 3>{2, 3, 4}));
      EXPECT_EQ(volume.affine, (volume::Affine{{{2, 0, 0, -10}, {0, 2, 0, -20}, {0, 0, 2, -30}}}));
      ASSERT_EQ(volume.values.size(), 24);
      EXPECT_EQ(volume.values[0], -1010);
      EXPECT_EQ(volume.values[23], -964);
    }
  }
}

TEST(NiftiFile, TakesTheQformWhereThereIsNoSform) {
  NiftiBytes file = sound_nifti();
  file.sform_code = 0;
  file.qform_code = 1;
  file.quaternion = {0, 0, 1};  // half a turn about z
  file.shift = {1, 2, 3};
  file.pixdim = {-1, 1, 2, 3};
  const CtVolume volume = read_nifti_bytes(file.bytes());
  EXPECT_EQ(volume.affine, (volume::Affine{{{-1, 0, 0, 1}, {0, -2, 0, 2}, {0, 0, -3, 3}}}));
}

TEST(NiftiFile, TakesOneVolumeThatHasMoreAxes) {
  NiftiBytes file = sound_nifti();
  file.dim = {5, 2, 3, 4, 1, 1};
  EXPECT_EQ(read_nifti_bytes(file.bytes()).values.size(), 24);
}

TEST(NiftiFile, PassesOverExtensions) {
  NiftiBytes file = sound_nifti();
  file.offset = 352 + 5000;
  file.values = std::string(5000, '\7') + file.values;
  EXPECT_EQ(read_nifti_bytes(file.bytes()).values[0], -5);
}

TEST(NiftiFile, TakesNoSlopeForOne) {
  NiftiBytes file = sound_nifti();
  for (const double slope : {0.0, std::numeric_limits<double>::quiet_NaN()}) {
    file.slope = slope;
    file.intercept = 7;
    EXPECT_EQ(read_nifti_bytes(file.bytes()).values[0], -5);
  }
}

TEST(NiftiFile, RefusesWhatIsCutShortAnywhere) {
  for (const int version : {1, 2}) {
    const std::string whole = sound_nifti(version).bytes();
    const std::string packed = test::gzip_bytes(whole);
    for (std::size_t size = 0; size < whole.size(); ++size)
      ASSERT_THAT(nifti_problem(whole.substr(0, size)), SaysOfTheScan("is cut short"));
    for (std::size_t size = 18; size < packed.size(); ++size)  // behind gzip's own header
      ASSERT_THAT(nifti_problem(packed.substr(0, size)), SaysOfTheScan("copy or export it again"));
  }
}

TEST(NiftiFile, RefusesDamagedGzip) {
  const std::string file = sound_nifti().bytes();
  for (const std::string& whole : {file, file + std::string(1 << 20, 'x')}) {
    std::string packed = test::gzip_bytes(whole);
    EXPECT_EQ(read_nifti_bytes(packed).values[0], -5);
    packed[packed.size() - 6] ^= 1;  // within the checksum, which comes last
    EXPECT_THAT(nifti_problem(packed), SaysOfTheScan("is damaged: "));
  }
}

TEST(NiftiFile, RefusesWhatHasNoAffine) {
  NiftiBytes file = sound_nifti();
  file.sform_code = 0;
  EXPECT_THAT(nifti_problem(file.bytes()),
              SaysOfTheScan("has no affine (neither sform nor qform)"));
}

TEST(NiftiFile, RefusesFourAxesAndPictures) {
  NiftiBytes file = sound_nifti();
  file.dim = {4, 2, 3, 2, 2};
  EXPECT_THAT(nifti_problem(file.bytes()), SaysOfTheScan("holds 4 axes (2 x 3 x 2 x 2)"));
  file.dim = {2, 4, 6};
  EXPECT_THAT(nifti_problem(file.bytes()), SaysOfTheScan("holds a picture (4 x 6)"));
  file.dim = {9, 4, 6};
  EXPECT_THAT(nifti_problem(file.bytes()), SaysOfTheScan("says that it has 9 axes"));
}

TEST(NiftiFile, RefusesVoxelsThatAreNoNumbers) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    NiftiBytes file;
    std::vector<float> values(24, 0.0F);
    values[1 + 2 * (2 + 3 * 3)] = bad;
    file.set(values);
    EXPECT_THAT(
        nifti_problem(file.bytes()),
        SaysOfTheScan(std::isnan(bad) ? "voxel (1, 2, 3) is NaN" : "(1, 2, 3) is infinite"));
  }
}

TEST(NiftiFile, RefusesSpacingThatIsNotPositive) {
  NiftiBytes file = sound_nifti();
  file.sform_code = 0;
  file.qform_code = 1;
  for (const double spacing : {0.0, -2.0, std::numeric_limits<double>::quiet_NaN()}) {
    file.pixdim = {1, 2, spacing, 2};
    EXPECT_THAT(nifti_problem(file.bytes()), SaysOfTheScan("expected positive numbers"));
  }
}

TEST(NiftiFile, RefusesAffinesOfNoVolume) {
  NiftiBytes file = sound_nifti();
  file.sform = {2, 0, 2, 0, 0, 2, 0, 0, 0, 0, 0, 0};
  EXPECT_THAT(nifti_problem(file.bytes()), SaysOfTheScan("voxels are flat"));
  file.sform = {};
  EXPECT_THAT(nifti_problem(file.bytes()), SaysOfTheScan("voxels are flat (spacing 0 x 0 x 0 mm)"));
  file.sform[5] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(nifti_problem(file.bytes()), SaysOfTheScan("values that are no numbers"));
  file.sform_code = 0;
  file.qform_code = 1;
  file.quaternion = {1, 1, 0};
  EXPECT_THAT(nifti_problem(file.bytes()), SaysOfTheScan("longer than 1"));
}

TEST(NiftiFile, RefusesTypesOfOtherThings) {
  NiftiBytes file = sound_nifti();
  for (const auto& [code, name] : {std::pair{1, "BINARY"},
                                   {32, "COMPLEX64"},
                                   {128, "RGB24"},
                                   {1536, "FLOAT128"},
                                   {77, "77"}}) {
    file.datatype = code;
    EXPECT_THAT(nifti_problem(file.bytes()), SaysOfTheScan(name));
    EXPECT_THAT(nifti_problem(file.bytes()), SaysOfTheScan("expected integers or floats"));
  }
}

TEST(NiftiFile, RefusesSizesBeforeItTakesMemoryForThem) {
  NiftiBytes file = sound_nifti();
  file.dim = {3, 32767, 32767, 32767};
  EXPECT_THAT(nifti_problem(file.bytes()), SaysOfTheScan("at most 4294967296 can be read"));
  file.dim = {3, 1024, 1024, 1024};  // fewer, but the file does not hold them
  EXPECT_THAT(nifti_problem(file.bytes()), SaysOfTheScan("more than the file can hold"));
  EXPECT_THAT(nifti_problem(test::gzip_bytes(file.bytes())), SaysOfTheScan("is cut short"));
  file.version = 2;
  constexpr std::int64_t kLarge = std::numeric_limits<std::int64_t>::max();
  file.dim = {3, kLarge, kLarge, 2};
  EXPECT_THAT(nifti_problem(file.bytes()), SaysOfTheScan("at most 4294967296 can be read"));
  file.dim = {3, 2, -3, 4};
  EXPECT_THAT(nifti_problem(file.bytes()), SaysOfTheScan("2 x -3 x 4 voxels large"));
  file.dim = {3, 2, 0, 4};
  EXPECT_THAT(nifti_problem(file.bytes()), SaysOfTheScan("2 x 0 x 4 voxels large"));
}

TEST(NiftiFile, RefusesOtherFields) {
  NiftiBytes file = sound_nifti();
  file.offset = 100;
  EXPECT_THAT(nifti_problem(file.bytes()), SaysOfTheScan("values begin at byte 100"));
  file = sound_nifti();
  file.offset = std::numeric_limits<double>::infinity();
  EXPECT_THAT(nifti_problem(file.bytes()), SaysOfTheScan("values begin at byte inf"));
  file = sound_nifti();
  file.units = 1;
  EXPECT_THAT(nifti_problem(file.bytes()), SaysOfTheScan("expected millimetres"));
  file = sound_nifti();
  file.intercept = std::numeric_limits<double>::infinity();
  EXPECT_THAT(nifti_problem(file.bytes()), SaysOfTheScan("correct scl_inter"));
  file = sound_nifti();
  file.magic = "ni1";
  EXPECT_THAT(nifti_problem(file.bytes()), SaysOfTheScan("one half of a pair"));
  file.magic = "abc";
  EXPECT_THAT(nifti_problem(file.bytes()), SaysOfTheScan("is not NIfTI"));
  EXPECT_THAT(nifti_problem(std::string(600, 'x')), SaysOfTheScan("is not NIfTI"));
}

TEST(NiftiFile, RefusesWhatIsNoFile) {
  const test::TempFolder folder;
  EXPECT_THAT([&] { load_ct_plugin().read_nifti(folder.path() / "patient.nii", "scan.nii"); },
              ::testing::ThrowsMessage<base::DataError>(SaysOfTheScan("No such file")));
  EXPECT_THAT([&] { load_ct_plugin().read_nifti(folder.path(), "scan.nii"); },
              ::testing::ThrowsMessage<base::DataError>(SaysOfTheScan("it is not a file")));
}

TEST(NiftiFile, FuzzedFilesGiveAVolumeOrAnError) {
  const MemoryFile file;
  const std::array whole{sound_nifti(1).bytes(), sound_nifti(2).bytes(),
                         test::gzip_bytes(sound_nifti(1).bytes())};
  int volumes = 0;
  const int rounds = repeat_fuzzing([&](std::mt19937& random) {
    std::string bytes = whole[random() % whole.size()];
    mutate(bytes, random);
    try {
      const CtVolume volume = load_ct_plugin().read_nifti(file.write(bytes), "scan.nii");
      ++volumes;
      EXPECT_EQ(std::ssize(volume.values), volume.sizes[0] * volume.sizes[1] * volume.sizes[2]);
    } catch (const base::DataError& error) {
      EXPECT_THAT(error.what(), StartsWith("scan.nii: "));
    }
  });
  EXPECT_GT(volumes, 0);
  EXPECT_LT(volumes, rounds);
}

}  // namespace
}  // namespace paceline::data
