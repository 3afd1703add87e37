#include "paceline/comm/gloo/listeners.h"

#include "paceline/comm/endpoint.h"
#include "support/free_port.h"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

namespace paceline::comm {
namespace {

using ::testing::Contains;
using ::testing::Not;

TEST(Listeners, AreFoundAndClosedUnderTheirOwner) {
  const int port = test::free_port();
  bool is_narrow = false;
  const Socket listener = listen_on("127.0.0.1", static_cast<std::uint16_t>(port), is_narrow);
  EXPECT_THAT(listening_sockets(), Contains(listener.descriptor()));
  await_listener("127.0.0.1", static_cast<std::uint16_t>(port), std::chrono::seconds(10));
  stop_listening(listener.descriptor());
  EXPECT_THAT(listening_sockets(), Not(Contains(listener.descriptor())));
  EXPECT_ANY_THROW(
      await_listener("127.0.0.1", static_cast<std::uint16_t>(port), std::chrono::milliseconds(50)));
  pollfd silent{listener.descriptor(), POLLIN, 0};
  EXPECT_EQ(poll(&silent, 1, 0), 0) << "the number must stay an open, silent descriptor";
}

}  // namespace
}  // namespace paceline::comm
