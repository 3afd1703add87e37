#include "paceline/comm/endpoint.h"

#include "paceline/base/error.h"
#include "support/free_port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::comm {
namespace {

using ::testing::AllOf;
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

TEST(Resolve, GivesNumericAddressesAndNamesWhatItCannotFind) {
  EXPECT_EQ(resolve("localhost"), "127.0.0.1");
  EXPECT_EQ(resolve("10.1.2.3"), "10.1.2.3");
  EXPECT_THAT([] { resolve("no-such-host.invalid"); },
              ThrowsMessage<base::CommError>(HasSubstr("'no-such-host.invalid'")));
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
