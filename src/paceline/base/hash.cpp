#include "paceline/base/hash.h"

#include "paceline/base/error.h"

#include <fmt/format.h>

#define XXH_INLINE_ALL  // with the vectors of this build: twice as fast as the library's
#include <xxhash.h>

namespace paceline::base {

std::uint64_t xxh3(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::string xxh3_128_hex(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

struct Xxh3Stream::State {
  State() : xxh(XXH3_createState()) { PACELINE_CHECK(xxh != nullptr, "out of memory"); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { XXH3_freeState(xxh); }
  XXH3_state_t* xxh;
};

Xxh3Stream::Xxh3Stream() : state_(std::make_unique<State>()) { XXH3_64bits_reset(state_->xxh); }
Xxh3Stream::~Xxh3Stream() = default;
Xxh3Stream::Xxh3Stream(Xxh3Stream&&) noexcept = default;
Xxh3Stream& Xxh3Stream::operator=(Xxh3Stream&&) noexcept = default;

void Xxh3Stream::update(std::string_view bytes) {
  XXH3_64bits_update(state_->xxh, bytes.data(), bytes.size());
}

std::uint64_t Xxh3Stream::digest() const { return XXH3_64bits_digest(state_->xxh); }

}  // namespace paceline::base
