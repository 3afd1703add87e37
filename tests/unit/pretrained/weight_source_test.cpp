#include "paceline/pretrained/weight_source.h"

#include "paceline/base/error.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::pretrained {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(WeightSource, HubNames) {
  const std::string name = "timm/resnet50.a1_in1k";
  EXPECT_EQ(parse_weight_source("hf:" + name), WeightSource(HubSource{name}));
  EXPECT_EQ(parse_weight_source("hf://" + name), WeightSource(HubSource{name}));
  EXPECT_EQ(parse_weight_source("hf-hub:" + name), WeightSource(HubSource{name}));
  EXPECT_EQ(parse_weight_source("hf:" + name + "@v1.0"), WeightSource(HubSource{name, "v1.0"}));
  EXPECT_EQ(parse_weight_source("hf:" + name + "@refs/pr/1:a/b.safetensors"),
            WeightSource(HubSource{name, "refs/pr/1", "a/b.safetensors"}));
  EXPECT_EQ(parse_weight_source("hf:" + name + ":x@y.bin"),
            WeightSource(HubSource{name, "main", "x@y.bin"}));
}

TEST(WeightSource, OtherNames) {
  EXPECT_EQ(parse_weight_source("torchvision:IMAGENET1K_V2"),
            WeightSource(TorchvisionSource{"", "IMAGENET1K_V2"}));
  EXPECT_EQ(parse_weight_source("torchvision:resnet50/IMAGENET1K_V2"),
            WeightSource(TorchvisionSource{"resnet50", "IMAGENET1K_V2"}));
  EXPECT_EQ(parse_weight_source("https://host/a/x.pth?sig=1"),
            WeightSource(UrlSource{"https://host/a/x.pth?sig=1"}));
  EXPECT_EQ(parse_weight_source("gs://bucket/x.safetensors"),
            WeightSource(BucketSource{"gs://bucket/x.safetensors"}));
  EXPECT_EQ(file_name_of("https://host/a/x.pth?sig=a/b"), "x.pth");
  EXPECT_EQ(file_name_of("https://host/a/x.pth#y/z"), "x.pth");
}

TEST(WeightSource, PathsOfThisMachineAreNone) {
  for (const char* path : {"weights.safetensors", "/a/hf:b", "runs/a@best", "hf/x", "C:x", ""})
    EXPECT_FALSE(is_weight_source(path)) << path;
  for (const char* name : {"hf:a/b", "torchvision:X", "https://h/x", "http://h/x", "s3://b/x",
                           "gs://b/x", "hf-hub:a/b"})
    EXPECT_TRUE(is_weight_source(name)) << name;
}

TEST(WeightSource, WrongNamesSayHowTheyAreWritten) {
  const auto expect = [](const std::string& text, const std::string& said) {
    EXPECT_THAT([&] { parse_weight_source(text); },
                ThrowsMessage<base::ConfigError>(HasSubstr(said)))
        << text;
  };
  expect("hf:resnet50", "expected hf:OWNER/NAME");
  expect("hf:a/", "expected hf:OWNER/NAME");
  expect("hf:../b", "expected hf:OWNER/NAME");
  expect("hf:a/b c", "expected hf:OWNER/NAME");
  expect("hf:a/b/c/d.bin", "write hf:a/b:c/d.bin");
  expect("hf:a/b@", "REVISION must be");
  expect("hf:a/b@../../x", "REVISION must be");
  expect("hf:a/b:", "FILE must be a path in the repository");
  expect("hf:a/b:../x", "FILE must be a path in the repository");
  expect("hf:a/b:/etc/passwd", "FILE must be a path in the repository");
  expect("torchvision:", "expected torchvision:WEIGHTS");
  expect("torchvision:a/b/c", "expected torchvision:WEIGHTS");
  expect("https://host", "must end with the name of a file");
  expect("https://host/a/?x=1", "must end with the name of a file");
  expect("s3://bucket/..", "must end with the name of a file");
}

}  // namespace
}  // namespace paceline::pretrained
