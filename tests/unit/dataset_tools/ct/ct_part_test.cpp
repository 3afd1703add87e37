#include "paceline/dataset_tools/ct/ct_part.h"

#include "paceline/base/hash.h"
#include "support/temp_folder.h"

#include <gtest/gtest.h>

namespace paceline::dataset_tools {
namespace {

const CtSettings kSmallCubes{.fov_mm = 4, .sides = {2, 1}};

CtCubes small_cubes() {
  return {.sizes = {2, 2, 2}, .spacing_mm = {2, 2, 2}, .values = {{1, 2, 3, 4, 5, 6, 7, -8}, {3}}};
}

CtPatient patient_with(const CtCubes& cubes) {
  return {.code = "c0de",
          .source = "50",
          .hashes = {base::xxh3_128_hex(cubes.bytes(0)), base::xxh3_128_hex(cubes.bytes(1))}};
}

TEST(CtPart, IsReadAsItWasWritten) {
  const test::TempFolder folder;
  base::RealFileSystem files;
  const CtCubes cubes = small_cubes();
  const auto path = folder.path() / "c0de.part";
  EXPECT_FALSE(CtPart::open(path, kSmallCubes).has_value());
  CtPart::write(files, path, patient_with(cubes), cubes);
  const auto part = CtPart::open(path, kSmallCubes);
  ASSERT_TRUE(part.has_value());
  EXPECT_EQ(part->patient(), patient_with(cubes));
  EXPECT_EQ(part->values(0), cubes.bytes(0));
  EXPECT_EQ(part->values(1), cubes.bytes(1));
}

TEST(CtPart, HoldsXraysBehindTheCubes) {
  const test::TempFolder folder;
  base::RealFileSystem files;
  CtCubes cubes = small_cubes();
  cubes.xrays = {1, 2, 3, 4, 5, 6, 7, 65535};
  ASSERT_EQ(cubes.num_arrays(), 3);
  CtPatient patient = patient_with(cubes);
  patient.hashes.push_back(base::xxh3_128_hex(cubes.bytes(2)));
  const auto path = folder.path() / "c0de.part";
  CtPart::write(files, path, patient, cubes);
  CtSettings settings = kSmallCubes;
  EXPECT_FALSE(CtPart::open(path, settings).has_value()) << "it has more than these";
  settings.xrays = CtXraySettings{.size = 2};
  const auto part = CtPart::open(path, settings);
  ASSERT_TRUE(part.has_value());
  EXPECT_EQ(part->values(1), cubes.bytes(1));
  EXPECT_EQ(part->values(2), cubes.bytes(2));
  EXPECT_EQ(part->values(2).size(), 16);
}

TEST(CtPart, IsNothingWhereABitIsWrongOrAByteIsMissing) {
  const test::TempFolder folder;
  base::RealFileSystem files;
  const CtCubes cubes = small_cubes();
  CtPart::write(files, folder.path() / "whole", patient_with(cubes), cubes);
  const std::string whole = base::read_file(folder.path() / "whole");
  for (std::size_t size = 0; size < whole.size(); ++size)
    ASSERT_FALSE(CtPart::open(folder.write("cut", whole.substr(0, size)), kSmallCubes)) << size;
  EXPECT_FALSE(CtPart::open(folder.write("long", whole + "x"), kSmallCubes));
  for (std::size_t place = whole.find('\n'); place < whole.size(); ++place) {
    std::string damaged = whole;
    damaged[place] ^= 4;
    ASSERT_FALSE(CtPart::open(folder.write("damaged", damaged), kSmallCubes)) << place;
  }
  EXPECT_FALSE(CtPart::open(folder.path() / "whole", {.fov_mm = 4, .sides = {2}}));
  EXPECT_FALSE(CtPart::open(folder.path() / "whole", {.fov_mm = 4, .sides = {1, 2}}));
}

}  // namespace
}  // namespace paceline::dataset_tools
