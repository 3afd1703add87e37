#include "paceline/volume/nifti_writer.h"

#include "paceline/base/error.h"

#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <zlib.h>

namespace paceline::volume {
namespace {

std::vector<std::int16_t> counted(std::size_t count) {
  std::vector<std::int16_t> values(count);
  std::iota(values.begin(), values.end(), std::int16_t{-3});
  return values;
}

std::string gunzipped(const std::string& packed) {
  std::string bytes(1'000'000, '\0');
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 16 + MAX_WBITS), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(bytes.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  bytes.resize(stream.total_out);
  inflateEnd(&stream);
  return bytes;
}

TEST(NiftiWriter, WritesHeaderAndValues) {
  const auto values = counted(2 * 3 * 4);
  const std::string bytes =
      nifti_bytes({{2, 3, 4}, affine_of_cube(2, 100), values, "synthetic, not for diagnosis"});
  ASSERT_EQ(bytes.size(), 352 + 2 * values.size());
  EXPECT_EQ(bytes.substr(344, 4), std::string("n+1\0", 4));
  EXPECT_EQ(std::memcmp(bytes.data() + 352, values.data(), 2 * values.size()), 0);
  EXPECT_STREQ(bytes.data() + 148, "synthetic, not for diagnosis");
  std::array<std::int16_t, 8> dim{};
  std::memcpy(dim.data(), bytes.data() + 40, sizeof(dim));
  EXPECT_EQ(dim, (std::array<std::int16_t, 8>{3, 2, 3, 4, 1, 1, 1, 1}));
}

TEST(NiftiWriter, ACubesMiddleIsTheIsocentre) {
  const Affine affine = affine_of_cube(4, 100);
  for (std::size_t axis = 0; axis < 3; ++axis)
    EXPECT_DOUBLE_EQ(affine.at(axis).at(axis) * 1.5 + affine.at(axis)[3], 0);
  EXPECT_DOUBLE_EQ(affine[0][0], 25);
}

TEST(NiftiWriter, CompressedFilesHoldTheSameBytes) {
  const std::vector<float> values(5000, 1.5F);
  const NiftiVolume volume{{50, 50, 2}, affine_of_cube(50, 100), values};
  const std::string packed = gzipped_nifti_bytes(volume);
  EXPECT_EQ(gunzipped(packed), nifti_bytes(volume));
  EXPECT_LT(packed.size(), 2000);
  EXPECT_EQ(gzipped_nifti_bytes(volume), packed);
}

TEST(NiftiWriter, RefusesWhatAFileCannotHold) {
  const std::vector<std::uint8_t> values(40'000);
  EXPECT_THROW(nifti_bytes({{40'000, 1, 1}, affine_of_cube(1, 1), values}), base::ConfigError);
  EXPECT_THROW(nifti_bytes({{4, 1, 1}, affine_of_cube(1, 1), values}), base::InternalError);
  const std::string text(100, 'x');
  const std::string bytes = nifti_bytes({{200, 200, 1}, affine_of_cube(1, 1), values, text});
  EXPECT_EQ(std::strlen(bytes.data() + 148), 79u) << "a longer description is cut off";
}

}  // namespace
}  // namespace paceline::volume
