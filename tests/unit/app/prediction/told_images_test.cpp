#include "paceline/app/prediction/told_images.h"

#include "paceline/base/error.h"
#include "paceline/data/sources/image_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(ToldImages, AreToldInOrderWithThoseThatCouldNotBeRead) {
  std::vector<std::string> lines;
  PredictRequest request;
  request.tell = [&](const ToldImage& image, std::int64_t done, std::int64_t total) {
    lines.push_back(fmt::format("{} {} {}/{}", image.path,
                                image.error.empty() ? image.classes.at(0).name : image.error, done,
                                total));
  };
  const auto dataset = data::open_image_files({"a", "b", "c", "d", "e"});
  const std::vector<std::string> names{"cat", "dog"};
  ToldImages told(request, *dataset, names);
  const at::Tensor probabilities = at::tensor({0.9, 0.1, 0.2, 0.8}).view({2, 2});
  told.add({{{"probabilities", probabilities}}, {1, 2}, {"a: no JPEG", "d: it ends too early"}});
  told.add({{}, {}, {"e: cannot open"}});
  EXPECT_THAT(lines, ElementsAre("a no JPEG 1/5", "b cat 2/5", "c dog 3/5",
                                 "d it ends too early 4/5", "e cannot open 5/5"));
  EXPECT_THAT(
      [&] {
        told.add({{{"boxes", probabilities}}, {1, 2}, {}});
      },
      ThrowsMessage<base::ConfigError>(HasSubstr("this task gives out boxes")));
}

}  // namespace
}  // namespace paceline::app
