#include "paceline/config/secret.h"

#include "paceline/base/error.h"

#include <string>

#include <gtest/gtest.h>

namespace paceline::config {
namespace {

TEST(Secret, IsRefusedAndNotRepeated) {
  for (const char* name :
       {"token", "--hf-token", "aws.secret_access_key", "x.password", "wandb_api_key"}) {
    try {
      refuse_secret(name, "sesame");
      FAIL() << name;
    } catch (const base::ConfigError& error) {
      EXPECT_EQ(std::string(error.what()).find("sesame"), std::string::npos);
    }
  }
  EXPECT_NO_THROW(refuse_secret("max_tokens", "12"));
  EXPECT_NO_THROW(refuse_secret("data.tokenizer", "bert"));
  EXPECT_THROW(refuse_secret("x", "ghp_0123456789abcdef"), base::ConfigError);
  EXPECT_NO_THROW(refuse_secret("x", "sk-short"));
}

TEST(Secret, MayBeThePasswordOfAUrl) {
  EXPECT_TRUE(is_secret("data.path", "https://user:sesame@host/data"));
  EXPECT_TRUE(is_secret("data.path", "https://user:sesame@host"));
  EXPECT_FALSE(is_secret("data.path", "https://host/user:name@v1"));
  EXPECT_FALSE(is_secret("data.path", "hf://datasets/birds@main"));
  EXPECT_FALSE(is_secret("data.path", "runs/a@best"));
}

}  // namespace
}  // namespace paceline::config
