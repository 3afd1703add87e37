#include "paceline/launch/secret.h"

#include "paceline/base/error.h"
#include "paceline/base/keyed_hash.h"
#include "paceline/base/text.h"

#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace paceline::launch {
namespace {

constexpr std::size_t kShortest = 16;
constexpr std::size_t kLongest = 4096;

std::string read_private_file(const std::string& path) {
  const auto refuse = [&](const std::string& reason) {
    throw base::ConfigError(fmt::format("PACELINE_SECRET_FILE {}: {}", path, reason));
  };
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) refuse(std::strerror(errno));
  struct stat status {};
  std::array<char, kLongest + 1> text{};
  const bool is_known = fstat(descriptor, &status) == 0;
  const ssize_t size =
      is_known && S_ISREG(status.st_mode) ? read(descriptor, text.data(), text.size()) : -1;
  close(descriptor);
  if (size < 0) refuse("it cannot be read as a file");
  if (status.st_uid != geteuid()) refuse("it belongs to another user");
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    refuse("others can read it, so it is no secret; `chmod 600` makes it one");
  return std::string(base::trim({text.data(), static_cast<std::size_t>(size)}));
}

}  // namespace

std::optional<std::string> read_secret(const Environment& environment) {
  std::string name = "PACELINE_SECRET";
  std::optional<std::string> secret = environment.get(name);
  if (const auto path = environment.get("PACELINE_SECRET_FILE"); path && !secret) {
    name = "PACELINE_SECRET_FILE";
    secret = read_private_file(*path);
  }
  if (secret && (secret->size() < kShortest || secret->size() > kLongest))
    throw base::ConfigError(fmt::format(
        "{} must have {} to {} characters, but has {}; `openssl rand -hex 16` makes one", name,
        kShortest, kLongest, secret->size()));
  return secret;
}

std::string guarded_run_id(const std::string& name, const std::optional<std::string>& secret) {
  return secret ? base::hmac_sha256_hex(*secret, "run " + name) : name;
}

}  // namespace paceline::launch
