#include "paceline/tensor/fields.h"

#include "paceline/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::tensor {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(Fields, KeepTheOrderInWhichTheyWereNamed) {
  Fields fields{{"volume", at::ones({2})}, {"labels", at::zeros({2})}};
  fields.set("views", at::full({2}, 3));
  fields.set("volume", at::full({2}, 4));
  EXPECT_EQ(fields.names(), "volume, labels, views");
  EXPECT_EQ(fields.at("volume")[0].item<double>(), 4);
  EXPECT_TRUE(fields.contains("views"));
  EXPECT_EQ(fields.find("view"), nullptr);
}

TEST(Fields, SayWhatThereIsInsteadOfAnAbsentOne) {
  const Fields fields{{"images", at::ones({2})}, {"labels", at::zeros({2})}};
  EXPECT_THAT([&] { fields.at("masks"); }, ThrowsMessage<base::InternalError>(AllOf(
                                               HasSubstr("'masks'"), HasSubstr("images, labels"))));
}

TEST(Fields, CopiesShareTensorsAndMapDoesNot) {
  const Fields fields{{"a", at::zeros({2})}};
  Fields shared = fields;
  const Fields changed = fields.map([](const at::Tensor& tensor) { return tensor + 1; });
  shared.at("a").fill_(7);
  EXPECT_EQ(fields.at("a")[0].item<double>(), 7);
  EXPECT_EQ(changed.at("a")[0].item<double>(), 1);
}

}  // namespace
}  // namespace paceline::tensor
