#include "paceline/dataset_tools/prepare/md5.h"

#include <array>

#include <fmt/format.h>
#include <nettle/md5.h>

namespace paceline::dataset_tools {

struct Md5::State {
  md5_ctx context;
};

Md5::Md5() : state_(std::make_unique<State>()) { md5_init(&state_->context); }
Md5::~Md5() = default;
Md5::Md5(Md5&&) noexcept = default;
Md5& Md5::operator=(Md5&&) noexcept = default;

void Md5::update(std::span<const std::uint8_t> bytes) {
  md5_update(&state_->context, bytes.size(), bytes.data());
}

std::string Md5::finish() {
  std::array<std::uint8_t, MD5_DIGEST_SIZE> digest;
  md5_digest(&state_->context, digest.size(), digest.data());
  std::string text;
  for (const std::uint8_t byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace paceline::dataset_tools
