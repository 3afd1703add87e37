#include "paceline/data/codec/jpeg/segment.h"

#include <algorithm>
#include <cstring>

namespace paceline::data::jpeg {

void Segment::load(std::span<const std::uint8_t> file, std::size_t begin, std::size_t end) {
  const std::uint8_t* source = file.data() + begin;
  const std::uint8_t* const source_end = file.data() + end;
  bytes_ = buffer_.reserve(end - begin + kPadding);
  stuffed_.clear();
  std::uint8_t* target = bytes_;
  while (source < source_end) {
    const auto left = static_cast<std::size_t>(source_end - source);
    const auto* marker = static_cast<const std::uint8_t*>(std::memchr(source, 0xFF, left));
    const std::uint8_t* const run_end = marker != nullptr ? marker : source_end;
    const auto run = static_cast<std::size_t>(run_end - source);
    std::memcpy(target, source, run);
    target += run;
    source = run_end;
    if (marker == nullptr || marker + 1 >= source_end || marker[1] != 0) break;
    stuffed_.push_back(static_cast<std::size_t>(target - bytes_));
    *target++ = 0xFF;
    source += 2;
  }
  std::memset(target, 0, kPadding);
  size_ = static_cast<std::size_t>(target - bytes_);
  begin_in_file_ = begin;
  end_in_file_ = static_cast<std::size_t>(source - file.data());
}

std::size_t Segment::place_in_file(std::size_t index) const {
  const auto before = std::ranges::lower_bound(stuffed_, index) - stuffed_.begin();
  return begin_in_file_ + index + static_cast<std::size_t>(before);
}

}  // namespace paceline::data::jpeg
