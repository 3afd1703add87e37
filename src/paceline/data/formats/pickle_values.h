#pragma once

#include "paceline/data/formats/pickle.h"
#include "paceline/data/formats/pickle_stream.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace paceline::data {

/// The values that a pickle makes, within bounds: a small file must not take all memory, nor nest
/// its values so deep that whoever walks them runs out of stack. All of it throws DataError.
class PickleValues : public PickleStream {
 public:
  // What files of data sets stay far below: the largest of CIFAR has 150,000 values.
  static constexpr std::size_t kMaxValues = std::size_t{1} << 20;
  static constexpr int kMaxDepth = 100;

  using PickleStream::PickleStream;

  PickleValue* make(PickleValue::Kind kind) {
    if (values_.size() == kMaxValues) fail(fmt::format("it has more than {} values", kMaxValues));
    values_.emplace_back().kind = kind;
    return &values_.back();
  }

  PickleValue* make_int(std::int64_t integer) {
    PickleValue* const value = make(PickleValue::Kind::kInt);
    value->integer = integer;
    return value;
  }

  PickleValue* make_real(double real) {
    PickleValue* const value = make(PickleValue::Kind::kReal);
    value->real = real;
    return value;
  }

  PickleValue* make_text(PickleValue::Kind kind, std::string_view text) {
    PickleValue* const value = make(kind);
    set_text(*value, text);
    return value;
  }

  /// Bytes may be copied a few times on their way, but not over and over.
  void set_text(PickleValue& value, std::string_view text) {
    num_text_bytes_ += text.size();
    if (num_text_bytes_ > 8 * num_bytes() + 4096) fail("it copies its bytes over and over");
    value.text = text;
  }

  void deepen(PickleValue& outer, const PickleValue& inner) {
    outer.depth = std::max(outer.depth, inner.depth + 1);
    if (outer.depth > kMaxDepth) fail(fmt::format("it is nested more than {} deep", kMaxDepth));
  }

  /// All of them, which stay where they are in memory.
  std::deque<PickleValue> take_values() { return std::move(values_); }

 private:
  std::deque<PickleValue> values_;
  std::size_t num_text_bytes_ = 0;
};

}  // namespace paceline::data
