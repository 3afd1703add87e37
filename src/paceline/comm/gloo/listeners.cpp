#include "paceline/comm/gloo/listeners.h"

#include <charconv>
#include <filesystem>
#include <string>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace paceline::comm {

std::set<int> listening_sockets() {
  std::set<int> sockets;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
    const std::string name = entry.path().filename().string();
    int descriptor = -1;
    std::from_chars(name.data(), name.data() + name.size(), descriptor);
    int is_listening = 0;
    socklen_t size = sizeof is_listening;
    if (getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &size) == 0 &&
        is_listening != 0) {
      sockets.insert(descriptor);
    }
  }
  return sockets;
}

void stop_listening(int descriptor) {
  // Not shutdown(): the owner's event loop would be told of it again and again.
  const int silent = eventfd(0, EFD_CLOEXEC);
  if (silent < 0) return;
  dup3(silent, descriptor, O_CLOEXEC);
  close(silent);
}

}  // namespace paceline::comm
