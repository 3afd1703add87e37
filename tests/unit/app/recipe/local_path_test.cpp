#include "paceline/app/recipe/local_path.h"

#include "paceline/base/error.h"

#include <cstdlib>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

TEST(LocalPath, IsSeenFromTheWorkingDirectory) {
  const std::filesystem::path here = std::filesystem::current_path();
  EXPECT_EQ(absolute_path("data/../x"), here / "x");
  EXPECT_EQ(absolute_path("runs/a@best"), here / "runs/a@best");
  EXPECT_EQ(absolute_path("/data/x"), "/data/x");
  EXPECT_EQ(absolute_path("file:///data/x"), "/data/x");
  EXPECT_EQ(absolute_path(""), "");
}

TEST(LocalPath, OfAnotherMachineStays) {
  for (const char* text : {"s3://b/x/../y", "hf:owner/name", "https://h/x?a=1", "gs://b",
                           "torchvision:resnet50/IMAGENET1K_V2"})
    EXPECT_EQ(absolute_path(text), text);
}

TEST(LocalPath, KnowsTheUsersHome) {
  const std::string home = std::getenv("HOME") != nullptr ? std::getenv("HOME") : "";
  setenv("HOME", "/home/ada", 1);
  EXPECT_EQ(absolute_path("~"), "/home/ada");
  EXPECT_EQ(absolute_path("~/data"), "/home/ada/data");
  EXPECT_EQ(absolute_path("~x"), std::filesystem::current_path() / "~x");
  unsetenv("HOME");
  EXPECT_THAT([] { absolute_path("~/data"); },
              testing::ThrowsMessage<base::ConfigError>(testing::HasSubstr("HOME")));
  if (!home.empty()) setenv("HOME", home.c_str(), 1);
}

}  // namespace
}  // namespace paceline::app
