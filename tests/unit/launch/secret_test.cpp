#include "paceline/launch/secret.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace paceline::launch {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr const char* kSecret = "0123456789abcdef";

using Variables = std::map<std::string, std::string, std::less<>>;

Environment with_file(const std::filesystem::path& path, const std::string& text, mode_t mode) {
  std::ofstream(path) << text;
  chmod(path.c_str(), mode);
  return Environment(Variables{{"PACELINE_SECRET_FILE", path.string()}});
}

TEST(SecretTest, ComesFromTheEnvironmentOrAPrivateFile) {
  const base::TempDir folder;
  EXPECT_EQ(read_secret(Environment()), std::nullopt);
  EXPECT_EQ(read_secret(Environment(Variables{{"PACELINE_SECRET", kSecret}})), kSecret);
  EXPECT_EQ(read_secret(with_file(folder.path() / "secret", std::string(kSecret) + "\n", 0600)),
            kSecret);
}

TEST(SecretTest, WhatIsNoSecretIsRefused) {
  const base::TempDir folder;
  const auto path = folder.path() / "secret";
  EXPECT_THAT([&] { read_secret(with_file(path, kSecret, 0640)); },
              ThrowsMessage<base::ConfigError>(HasSubstr("chmod 600")));
  EXPECT_THAT([&] { read_secret(with_file(path, "short", 0600)); },
              ThrowsMessage<base::ConfigError>(HasSubstr("has 5; `openssl rand")));
  EXPECT_THAT(
      [&] {
        read_secret(Environment(Variables{{"PACELINE_SECRET", "short"}}));
      },
      ThrowsMessage<base::ConfigError>(HasSubstr("PACELINE_SECRET must have 16 to 4096")));
  EXPECT_THROW(read_secret(with_file(path, std::string(10'000, 'x'), 0600)), base::ConfigError);
  EXPECT_THROW(
      read_secret(Environment(Variables{{"PACELINE_SECRET_FILE", folder.path().string()}})),
      base::ConfigError);
  EXPECT_THROW(read_secret(Environment(Variables{{"PACELINE_SECRET_FILE", "/not/there"}})),
               base::ConfigError);
  const auto pipe = folder.path() / "pipe";
  mkfifo(pipe.c_str(), 0600);
  EXPECT_THROW(read_secret(Environment(Variables{{"PACELINE_SECRET_FILE", pipe.string()}})),
               base::ConfigError)
      << "and does not wait for a writer";
}

TEST(SecretTest, GuardsTheNameOfARun) {
  EXPECT_EQ(guarded_run_id("none@host:29500", std::nullopt), "none@host:29500");
  const std::string guarded = guarded_run_id("none@host:29500", kSecret);
  EXPECT_EQ(guarded, guarded_run_id("none@host:29500", kSecret));
  EXPECT_NE(guarded, guarded_run_id("other@host:29500", kSecret));
  EXPECT_EQ(guarded.find("host"), std::string::npos);
  EXPECT_EQ(guarded.find(kSecret), std::string::npos);
}

}  // namespace
}  // namespace paceline::launch
