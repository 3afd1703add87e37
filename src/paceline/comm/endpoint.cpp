#include "paceline/comm/endpoint.h"

#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "paceline/base/system_limit.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace paceline::comm {
namespace {

using Clock = std::chrono::steady_clock;
using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

/// Null where there is none; `error` is then one of getaddrinfo's.
AddressList try_look_up(const std::string& host, std::uint16_t port, int& error) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  return {error == 0 ? found : nullptr, &freeaddrinfo};
}

std::string unresolved(const std::string& host, int error) {
  const std::string cause = error == EAI_SYSTEM ? std::strerror(errno) : gai_strerror(error);
  return fmt::format("the host name '{}' has no address ({})", host, cause);
}

AddressList look_up(const std::string& host, std::uint16_t port) {
  int error = 0;
  AddressList list = try_look_up(host, port, error);
  if (!list) throw base::CommError(unresolved(host, error) + "; check MASTER_ADDR (--rdzv)");
  return list;
}

const addrinfo& preferred(const AddressList& list) {
  for (const addrinfo* entry = list.get(); entry != nullptr; entry = entry->ai_next) {
    if (entry->ai_family == AF_INET) {
      return *entry;
    }
  }
  return *list;
}

std::string to_text(const sockaddr* address, socklen_t length) {
  std::string text(NI_MAXHOST, '\0');
  if (getnameinfo(address, length, text.data(), NI_MAXHOST, nullptr, 0, NI_NUMERICHOST) != 0) {
    return {};
  }
  return text.substr(0, text.find('\0'));
}

/// All addresses of all interfaces that are up, IPv4 first.
std::vector<Endpoint> endpoints_here() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) {
    throw base::CommError(
        fmt::format("cannot list the network interfaces: {}", std::strerror(errno)));
  }
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, &freeifaddrs);
  std::vector<Endpoint> endpoints;
  for (const int family : {AF_INET, AF_INET6}) {
    for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
      if (entry->ifa_addr != nullptr && entry->ifa_addr->sa_family == family &&
          (entry->ifa_flags & static_cast<unsigned>(IFF_UP)) != 0U) {
        const socklen_t length = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
        endpoints.push_back({entry->ifa_name, to_text(entry->ifa_addr, length)});
      }
    }
  }
  return endpoints;
}

Endpoint endpoint_named(const std::string& interface) {
  const std::vector<Endpoint> endpoints = endpoints_here();
  std::set<std::string> names;
  for (const Endpoint& endpoint : endpoints) {
    if (endpoint.interface == interface) {
      return endpoint;
    }
    names.insert(endpoint.interface);
  }
  throw base::ConfigError(
      fmt::format("no network interface '{}' with an address on this machine; it has: {}",
                  interface, fmt::join(names, ", ")));
}

bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address == "::1";
}

/// The source address that the kernel would use towards `address`; no packet is sent.
std::string source_address(const std::string& address) {
  const AddressList list = look_up(address, 9);
  const addrinfo& target = preferred(list);
  const Socket socket(::socket(target.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (socket.descriptor() < 0) {
    const int error = errno;
    throw base::CommError(fmt::format("cannot open a socket to find the route to {} ({}): {}",
                                      address, std::strerror(error), base::limit_behind(error)));
  }
  sockaddr_storage source{};
  socklen_t length = sizeof source;
  auto* source_pointer =
      reinterpret_cast<sockaddr*>(&source);  // NOLINT: the socket interface's own way
  if (connect(socket.descriptor(), target.ai_addr, target.ai_addrlen) != 0 ||
      getsockname(socket.descriptor(), source_pointer, &length) != 0) {
    throw base::CommError(
        fmt::format("no route to the master at {}: {}", address, std::strerror(errno)));
  }
  return to_text(source_pointer, length);
}

/// 0 when the connection was accepted, else the error number.
int try_connect(const addrinfo& target, std::chrono::milliseconds timeout) {
  const Socket socket(::socket(target.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.descriptor() < 0) {
    return errno;
  }
  if (connect(socket.descriptor(), target.ai_addr, target.ai_addrlen) == 0) {
    return 0;
  }
  if (errno != EINPROGRESS) {
    return errno;
  }
  pollfd waited{socket.descriptor(), POLLOUT, 0};
  if (poll(&waited, 1, static_cast<int>(timeout.count())) != 1) {
    return ETIMEDOUT;
  }
  int error = 0;
  socklen_t length = sizeof error;
  getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &length);
  return error;
}

/// Without a descriptor, and errno says why, where that cannot be.
Socket make_listener(const addrinfo& local) {
  Socket socket(::socket(local.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (socket.descriptor() < 0) return socket;
  const int yes = 1;
  setsockopt(socket.descriptor(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(socket.descriptor(), local.ai_addr, local.ai_addrlen) != 0 ||
      listen(socket.descriptor(), SOMAXCONN) != 0) {
    const int error = errno;
    close(socket.release());
    errno = error;
  }
  return socket;
}

/// For a socket that cannot be opened or bound.
std::string cure_of(int error) {
  const std::string limit = base::limit_behind(error);
  return limit.empty() ? "choose another port with --master-port (MASTER_PORT)" : limit;
}

}  // namespace

Socket::~Socket() {
  if (descriptor_ >= 0) {
    close(descriptor_);
  }
}

int Socket::release() { return std::exchange(descriptor_, -1); }

Endpoint choose_endpoint(const std::string& master_address, int num_nodes,
                         const std::string& interface) {
  if (!interface.empty()) {
    return endpoint_named(interface);
  }
  if (num_nodes == 1) {
    return {"lo", "127.0.0.1"};
  }
  const std::string source = source_address(master_address);
  if (is_loopback(source)) {
    throw base::ConfigError(fmt::format(
        "the run has {} nodes, but the master address '{}' is a loopback address, which "
        "other machines cannot reach: give MASTER_ADDR (--rdzv) an address of node 0's "
        "network interface",
        num_nodes, master_address));
  }
  for (const Endpoint& endpoint : endpoints_here()) {
    if (endpoint.address == source) {
      return endpoint;
    }
  }
  return {"unknown interface", source};
}

void await_address(const std::string& host, std::chrono::milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  auto pause = std::chrono::milliseconds(50);
  for (bool is_first = true;; is_first = false) {
    int error = 0;
    if (try_look_up(host, 0, error)) return;
    const std::string cause = unresolved(host, error);
    const bool may_come = error == EAI_AGAIN || error == EAI_NONAME;
    if (!may_come || Clock::now() + pause >= deadline) {
      throw base::CommError(fmt::format(
          "{}{}; check MASTER_ADDR (--rdzv) and this machine's name service", cause,
          may_come ? fmt::format(" within {:.3g} s", std::chrono::duration<double>(timeout).count())
                   : ""));
    }
    if (is_first) base::log_warning("{}; trying again", cause);
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds(2000));
  }
}

std::string resolve(const std::string& host) {
  const AddressList list = look_up(host, 0);
  const addrinfo& found = preferred(list);
  return to_text(found.ai_addr, found.ai_addrlen);
}

Socket listen_on(const std::string& address, std::uint16_t port, bool& is_narrow) {
  is_narrow = true;
  Socket narrow = make_listener(preferred(look_up(address, port)));
  if (narrow.descriptor() >= 0) {
    return narrow;
  }
  if (errno == EADDRNOTAVAIL) {
    is_narrow = false;
    Socket wide = make_listener(preferred(look_up("0.0.0.0", port)));
    if (wide.descriptor() >= 0) {
      return wide;
    }
  }
  if (errno == EADDRINUSE) {
    throw base::CommError(fmt::format(
        "port {} on {} is in use, perhaps by another run: stop that one, or choose another "
        "port with --master-port (MASTER_PORT)",
        port, address));
  }
  const int error = errno;
  throw base::CommError(fmt::format("cannot listen on port {} of {} ({}): {}", port, address,
                                    std::strerror(error), cure_of(error)));
}

void await_listener(const std::string& host, std::uint16_t port,
                    std::chrono::milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  const AddressList list = look_up(host, port);
  auto pause = std::chrono::milliseconds(2);
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    const int error = try_connect(preferred(list), std::max(left, std::chrono::milliseconds(1)));
    if (error == 0) {
      return;
    }
    if (error == EMFILE || error == ENFILE) {
      throw base::CommError(
          fmt::format("cannot connect to {}:{}: {}", host, port, base::limit_behind(error)));
    }
    if (Clock::now() + pause >= deadline) {
      throw base::CommError(fmt::format(
          "cannot reach the master at {}:{} within {:.3g} s ({}): is rank 0 running there, are "
          "MASTER_ADDR and MASTER_PORT the same on all ranks, does a firewall stand between?",
          host, port, std::chrono::duration<double>(timeout).count(), std::strerror(error)));
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds(20));
  }
}

}  // namespace paceline::comm
