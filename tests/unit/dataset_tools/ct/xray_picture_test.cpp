#include "paceline/dataset_tools/ct/xray_picture.h"

#include "paceline/base/error.h"
#include "paceline/data/codec/png_encoder.h"
#include "support/data/test_images.h"
#include "support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::dataset_tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class XrayPictureFile : public ::testing::Test {
 protected:
  const test::TempFolder folder_;
  const ReadDicomXray dicom_ = [](const std::filesystem::path&, const std::string&) {
    return data::XrayPicture{.rows = 2, .columns = 2, .values = {0, 1, 0.2F, 0.4F}};
  };
};

TEST_F(XrayPictureFile, IsDicomByItsNameOrItsBeginning) {
  const auto plain = folder_.write("x.png", data::encode_gray_png({{1, 1}, {9}}));
  EXPECT_THAT(make_xray(plain, {.size = 1}, "x", dicom_), ElementsAre(9));
  for (const auto& path :
       {folder_.write("x.dcm", "anything"), folder_.write("x", std::string(128, '\0') + "DICM")})
    EXPECT_THAT(make_xray(path, {.size = 2}, "x", dicom_), ElementsAre(0, 65535, 13107, 26214));
}

TEST_F(XrayPictureFile, OfDicomIsResampledAndTurnedAsOthers) {
  const auto path = folder_.write("x.dcm", "");
  EXPECT_THAT(make_xray(path, {.size = 2, .flip_vertically = true}, "x", dicom_),
              ElementsAre(13107, 26214, 0, 65535));
  EXPECT_THAT(make_xray(path, {.size = 1}, "x", dicom_), ElementsAre(26214));
}

TEST_F(XrayPictureFile, OfTiffHasAllItsBits) {
  const std::vector<std::uint8_t> file = data::other_format("gray16.tif");
  const auto path = folder_.write("x.tif", std::string(file.begin(), file.end()));
  EXPECT_THAT([&] { make_xray(path, {.size = 13}, "the view", {}); },
              ThrowsMessage<base::DataError>(HasSubstr("the view: 21 x 13 pixels")));
}

TEST_F(XrayPictureFile, WhatDicomThrowsIsThrown) {
  const auto path = folder_.write("x.dcm", "");
  const auto refuse = [](const std::filesystem::path&,
                         const std::string& name) -> data::XrayPicture {
    throw base::DataError(name + ": no X-ray");
  };
  EXPECT_THAT([&] { make_xray(path, {.size = 1}, "the view", refuse); },
              ThrowsMessage<base::DataError>(HasSubstr("the view: no X-ray")));
}

}  // namespace
}  // namespace paceline::dataset_tools
