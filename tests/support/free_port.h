#pragma once

#include <atomic>
#include <cstdint>
#include <stdexcept>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace paceline::test {

/// A port of the loopback address that nothing listened on a moment ago, and each time another. It
/// is none of those that the kernel gives to outgoing connections, of which tests make thousands:
/// one of them would take it before the test does.
inline std::uint16_t free_port() {
  constexpr unsigned kFirst = 10'000;
  constexpr unsigned kCount = 20'000;  // the kernel's begin at 32,768
  static std::atomic<unsigned> next = static_cast<unsigned>(getpid()) * 7919;  // processes differ
  for (unsigned i = 0; i < kCount; ++i) {
    const auto port = static_cast<std::uint16_t>(kFirst + next++ % kCount);
    const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    const bool is_bound =
        bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    close(descriptor);
    if (is_bound) return port;
  }
  throw std::runtime_error("no free port on the loopback address");
}

}  // namespace paceline::test
