#include "paceline/base/sha256.h"

#include <array>
#include <cstdint>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nettle/sha2.h>

namespace paceline::base {

struct Sha256Stream::State {
  sha256_ctx context;
};

Sha256Stream::Sha256Stream() : state_(std::make_unique<State>()) { sha256_init(&state_->context); }
Sha256Stream::~Sha256Stream() = default;
Sha256Stream::Sha256Stream(Sha256Stream&&) noexcept = default;
Sha256Stream& Sha256Stream::operator=(Sha256Stream&&) noexcept = default;

void Sha256Stream::update(std::string_view bytes) {
  sha256_update(&state_->context, bytes.size(),
                reinterpret_cast<const std::uint8_t*>(bytes.data()));  // NOLINT: nettle's bytes
}

std::string Sha256Stream::hex_digest() const {
  sha256_ctx copy = state_->context;  // taking the digest ends a context
  std::array<std::uint8_t, SHA256_DIGEST_SIZE> digest{};
  sha256_digest(&copy, digest.size(), digest.data());
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

}  // namespace paceline::base
