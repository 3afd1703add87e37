#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace paceline::base {

/// SHA-256 (FIPS 180-4) of bytes that come in pieces: for what others publish it of.
class Sha256Stream {
 public:
  Sha256Stream();
  ~Sha256Stream();
  Sha256Stream(Sha256Stream&&) noexcept;
  Sha256Stream& operator=(Sha256Stream&&) noexcept;

  void update(std::string_view bytes);
  /// Of all bytes so far, as 64 hexadecimal digits; more may follow.
  std::string hex_digest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace paceline::base
