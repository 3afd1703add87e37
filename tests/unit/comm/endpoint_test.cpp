#include "paceline/comm/endpoint.h"

#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "support/free_port.h"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

namespace paceline::comm {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(ChooseEndpoint, TakesLoopbackOnASingleNode) {
  const Endpoint endpoint = choose_endpoint("a.name.that.is.not.looked.up", 1, "");
  EXPECT_EQ(endpoint.interface, "lo");
  EXPECT_EQ(endpoint.address, "127.0.0.1");
}

TEST(ChooseEndpoint, TakesTheNamedInterface) {
  EXPECT_EQ(choose_endpoint("127.0.0.1", 2, "lo").address, "127.0.0.1");
}

TEST(ChooseEndpoint, ListsTheInterfacesWhenTheNamedOneIsMissing) {
  EXPECT_THAT([] { choose_endpoint("127.0.0.1", 1, "eth77"); },
              ThrowsMessage<base::ConfigError>(AllOf(HasSubstr("no network interface 'eth77'"),
                                                     HasSubstr("it has: "), HasSubstr("lo"))));
}

TEST(ChooseEndpoint, RefusesALoopbackMasterForSeveralNodes) {
  EXPECT_THAT([] { choose_endpoint("localhost", 2, ""); },
              ThrowsMessage<base::ConfigError>(
                  AllOf(HasSubstr("2 nodes"), HasSubstr("'localhost' is a loopback address"))));
}

/// No name may begin with a dash, so that no name service is asked for it: one that is slow or
/// lost would decide how these tests end.
const char* const kNoHost = "-no-such-host";

TEST(Resolve, GivesNumericAddressesAndNamesWhatItCannotFind) {
  EXPECT_EQ(resolve("localhost"), "127.0.0.1");
  EXPECT_EQ(resolve("10.1.2.3"), "10.1.2.3");
  EXPECT_THAT([] { resolve(kNoHost); },
              ThrowsMessage<base::CommError>(HasSubstr("'-no-such-host'")));
}

TEST(AwaitAddress, WaitsForANameAndTellsTheCause) {
  await_address("localhost", std::chrono::milliseconds(0));
  std::vector<std::string> lines;
  const base::LogRedirection capture(
      [&](base::LogLevel, std::string_view line) { lines.emplace_back(line); });
  EXPECT_THAT([] { await_address(kNoHost, std::chrono::milliseconds(200)); },
              ThrowsMessage<base::CommError>(AllOf(HasSubstr("'-no-such-host' has no address ("),
                                                   HasSubstr("0.2 s"), HasSubstr("MASTER_ADDR"))));
  EXPECT_THAT(lines, ElementsAre(HasSubstr("trying again")));
}

/// While it lives, no more descriptors can be opened.
class NoMoreDescriptors {
 public:
  NoMoreDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit none = before_;
    none.rlim_cur = 0;
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoMoreDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST(ListenOn, NamesTheLimitOfDescriptors) {
  bool is_narrow = false;
  const std::uint16_t port = test::free_port();
  const NoMoreDescriptors limit;
  EXPECT_THAT([&] { listen_on("127.0.0.1", port, is_narrow); },
              ThrowsMessage<base::CommError>(
                  AllOf(HasSubstr("Too many open files"), HasSubstr("ulimit -n"))));
}

TEST(ChooseEndpoint, NamesTheLimitOfDescriptors) {
  const NoMoreDescriptors limit;
  EXPECT_THAT([] { choose_endpoint("127.0.0.1", 2, ""); },
              ThrowsMessage<base::CommError>(
                  AllOf(HasSubstr("Too many open files"), HasSubstr("ulimit -n"))));
}

TEST(ListenOn, NamesAPortInUseAndTheCure) {
  const std::uint16_t port = test::free_port();
  bool is_narrow = false;
  const Socket first = listen_on("127.0.0.1", port, is_narrow);
  EXPECT_TRUE(is_narrow);
  EXPECT_THAT(
      [&] { listen_on("127.0.0.1", port, is_narrow); },
      ThrowsMessage<base::CommError>(
          AllOf(HasSubstr(std::to_string(port)), HasSubstr("in use"), HasSubstr("--master-port"))));
}

TEST(ListenOn, FallsBackToAllInterfacesForATranslatedAddress) {
  bool is_narrow = true;
  const Socket socket = listen_on("192.0.2.1", test::free_port(), is_narrow);  // TEST-NET-1
  EXPECT_FALSE(is_narrow);
  EXPECT_GE(socket.descriptor(), 0);
}

TEST(AwaitListener, NamesHostPortAndCauseAfterTheTimeOut) {
  const std::uint16_t port = test::free_port();
  EXPECT_THAT(
      [&] { await_listener("127.0.0.1", port, std::chrono::milliseconds(60)); },
      ThrowsMessage<base::CommError>(AllOf(HasSubstr("127.0.0.1:" + std::to_string(port)),
                                           HasSubstr("Connection refused"), HasSubstr("0.06 s"))));
}

}  // namespace
}  // namespace paceline::comm
