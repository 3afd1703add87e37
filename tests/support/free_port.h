#pragma once

#include <cstdint>
#include <stdexcept>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace paceline::test {

/// A port of the loopback address that nothing listened on a moment ago.
inline std::uint16_t free_port() {
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* pointer = reinterpret_cast<sockaddr*>(&address);
  const bool is_bound =
      bind(descriptor, pointer, length) == 0 && getsockname(descriptor, pointer, &length) == 0;
  close(descriptor);
  if (!is_bound) {
    throw std::runtime_error("no free port on the loopback address");
  }
  return ntohs(address.sin_port);
}

}  // namespace paceline::test
