#include "paceline/base/system_limit.h"

#include "paceline/base/error.h"

#include <algorithm>
#include <cerrno>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace paceline::base {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(SystemLimit, NamesTheLimitAndTheCure) {
  EXPECT_THAT(limit_behind(EAGAIN), HasSubstr("ulimit -u"));
  EXPECT_THAT(limit_behind(EMFILE), HasSubstr("ulimit -n"));
  EXPECT_THAT(limit_behind(ENOMEM), HasSubstr("memory"));
  EXPECT_EQ(limit_behind(EADDRINUSE), "");
  EXPECT_THAT(limit_named_in("socket: Too many open files"), HasSubstr("ulimit -n"));
  EXPECT_EQ(limit_named_in("Connection refused"), "");
}

TEST(SystemLimit, TooFewDescriptorsAreAnErrorWithACure) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const int allowed = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 1 << 20));
  EXPECT_NO_THROW(require_descriptors(allowed));
  const rlimit lower{100, limit.rlim_max};
  setrlimit(RLIMIT_NOFILE, &lower);
  EXPECT_THAT([] { require_descriptors(101); },
              ThrowsMessage<ConfigError>(HasSubstr("may have 100: raise the limit (`ulimit -n`)")));
  EXPECT_NO_THROW(require_more_descriptors(10));
  EXPECT_THAT([] { require_more_descriptors(98); },  // besides standard streams
              ThrowsMessage<ConfigError>(HasSubstr("may have 100")));
  const rlimit none{0, limit.rlim_max};  // so not even the open ones can be counted
  setrlimit(RLIMIT_NOFILE, &none);
  EXPECT_THAT([] { require_more_descriptors(1); },
              ThrowsMessage<ConfigError>(HasSubstr("raise the limit of descriptors")));
  setrlimit(RLIMIT_NOFILE, &limit);
}

TEST(SystemLimit, AFewThreadsCanBeStarted) { EXPECT_NO_THROW(require_threads(8)); }

TEST(SystemLimit, TooManyThreadsAreAnErrorWithACure) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "a sanitizer's shadow memory does not fit under a limit of address space";
#endif
  const pid_t child = fork();
  if (child == 0) {
    // Room for a few stacks of threads and no more; root knows no other limit.
    const rlimit little{std::size_t{64} << 20, std::size_t{64} << 20};
    setrlimit(RLIMIT_AS, &little);
    try {
      require_threads(4000);
    } catch (const ConfigError& error) {
      const bool is_told =
          std::string(error.what()).find("needs some 4000 threads") != std::string::npos;
      _exit(is_told ? 0 : 1);
    }
    _exit(2);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace paceline::base
