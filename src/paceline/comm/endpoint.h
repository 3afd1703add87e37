#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace paceline::comm {

/// One of this machine's network interfaces.
struct Endpoint {
  std::string interface;  ///< "lo", "eth0"
  std::string address;    ///< numeric
};

/// Which interface a rank's peers can reach it on: "lo" when all ranks are on one machine; else the
/// one that is named; else the one that routes to `master_address`. Throws ConfigError that lists
/// the interfaces when the named one is not there or has no address, and when several machines
/// would talk over a loopback address.
Endpoint choose_endpoint(const std::string& master_address, int num_nodes,
                         const std::string& interface);

/// Returns when the host name has an address: where machines start together, node 0's may be there
/// later than this one. Throws CommError, naming the last cause, after `timeout`.
void await_address(const std::string& host, std::chrono::milliseconds timeout);

/// The numeric address of a host name, IPv4 where it has one. Throws CommError.
std::string resolve(const std::string& host);

/// A file descriptor of its own.
class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket();
  Socket(Socket&& other) noexcept : descriptor_(other.release()) {}
  Socket& operator=(Socket&&) = delete;
  int descriptor() const { return descriptor_; }
  int release();

 private:
  int descriptor_;
};

/// A listening socket on that address alone. Where this machine does not have the address (it is
/// translated on the way) the socket listens on all addresses, and `is_narrow` is set to false.
/// Throws CommError when the port is in use.
Socket listen_on(const std::string& address, std::uint16_t port, bool& is_narrow);

/// Returns when something listens there. Throws CommError, naming host, port and cause, after
/// `timeout`.
void await_listener(const std::string& host, std::uint16_t port, std::chrono::milliseconds timeout);

}  // namespace paceline::comm
