#include "paceline/data/remote/remote_plugin.h"

#include "paceline/base/error.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(RemotePlugin, NamesTheSchemesItHas) {
  EXPECT_THAT([] { load_remote_plugin().open_storage("ftp", {}); },
              ThrowsMessage<base::ConfigError>(AllOf(HasSubstr("ftp://"), HasSubstr("s3://"))));
}

TEST(RemotePlugin, SaysWhyItCannotBeLoaded) {
  ASSERT_EQ(setenv("PACELINE_REMOTE_PLUGIN", "/absent/plugin.so", 1), 0);
  EXPECT_THAT([] { load_remote_plugin(); },
              ThrowsMessage<base::ConfigError>(
                  AllOf(HasSubstr("/absent/plugin.so"), HasSubstr("No such file"))));
  ASSERT_EQ(unsetenv("PACELINE_REMOTE_PLUGIN"), 0);
}

}  // namespace
}  // namespace paceline::data
