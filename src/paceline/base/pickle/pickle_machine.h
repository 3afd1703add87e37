#pragma once

#include "paceline/base/pickle/pickle_values.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace paceline::base {

/// What the opcodes of a pickle work on, reduced to what builds values: a stack with marks in it,
/// and a memo. All of it throws PickleError.
class PickleMachine : public PickleValues {
 public:
  using Values = std::vector<const PickleValue*>;

  /// The rules must outlive the machine.
  PickleMachine(std::span<const std::uint8_t> bytes, const PickleRules& rules)
      : PickleValues(bytes), rules_(rules) {}

  void push(PickleValue* value) { stack_.push_back(value); }
  PickleValue* pop();
  PickleValue& top();
  void mark() { marks_.push_back(stack_.size()); }
  Values pop_to_mark();
  Values pop_last(std::size_t count);

  void push_list(Values items);
  /// Nothing is an error.
  void push_text(const std::optional<std::string>& text);
  /// `spelled` stands for a value of more than 64 bits.
  void push_int(std::optional<std::int64_t> value, std::string_view spelled);
  void push_global(std::string_view module, std::string_view name);
  void push_object(const PickleValue& callee, const PickleValue& argument);
  void push_reference(PickleValue* argument);

  /// To what lies on top.
  void add_items(const Values& added);
  void set_items(const Values& pairs);
  void set_state(const PickleValue& state);

  std::size_t memo_size() const { return memo_.size(); }
  void put(std::optional<std::uint64_t> key);
  void get(std::optional<std::uint64_t> key);

 private:
  void push_encoded(const PickleValue& argument);

  const PickleRules& rules_;
  std::vector<PickleValue*> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, PickleValue*> memo_;
};

}  // namespace paceline::base
