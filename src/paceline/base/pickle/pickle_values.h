#pragma once

#include "paceline/base/pickle/pickle_stream.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace paceline::base {

/// The values that a pickle makes, within bounds: a small file must not take all memory, nor nest
/// its values so deep that whoever walks them runs out of stack. All of it throws PickleError.
class PickleValues : public PickleStream {
 public:
  // What files stay far below: the largest of CIFAR has 150,000 values, a tensor of torch's has 20.
  static constexpr std::size_t kMaxValues = std::size_t{1} << 20;
  static constexpr std::size_t kMaxOperations = std::size_t{1} << 24;
  static constexpr int kMaxDepth = 100;

  struct Memory {
    std::deque<PickleValue> values;  ///< stay where they are
    std::deque<std::string> texts;   ///< that do not stand in the pickle
  };

  using PickleStream::PickleStream;

  PickleValue* make(PickleValue::Kind kind) {
    if (memory_.values.size() == kMaxValues)
      fail(fmt::format("it has more than {} values", kMaxValues));
    memory_.values.emplace_back().kind = kind;
    return &memory_.values.back();
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
    value->text = text;
    return value;
  }

  /// Keeps a text that does not stand in the pickle. Bytes may be copied a few times on their way,
  /// but not over and over.
  std::string_view keep(std::string text) {
    num_kept_bytes_ += text.size();
    if (num_kept_bytes_ > 8 * num_bytes() + 4096) fail("it copies its bytes over and over");
    return memory_.texts.emplace_back(std::move(text));
  }

  void deepen(PickleValue& outer, const PickleValue& inner) {
    outer.depth = std::max(outer.depth, inner.depth + 1);
    if (outer.depth > kMaxDepth) fail(fmt::format("it is nested more than {} deep", kMaxDepth));
  }

  void count_operation() {
    if (++num_operations_ > kMaxOperations)
      fail(fmt::format("it has more than {} operations", kMaxOperations));
  }

  Memory take_memory() { return std::move(memory_); }

 private:
  Memory memory_;
  std::size_t num_kept_bytes_ = 0;
  std::size_t num_operations_ = 0;
};

}  // namespace paceline::base
