#include "paceline/base/pickle/pickle_machine.h"

#include "paceline/base/pickle/pickle_text.h"

#include <utility>

#include <fmt/format.h>

namespace paceline::base {

PickleValue* PickleMachine::pop() {
  PickleValue& value = top();
  stack_.pop_back();
  return &value;
}

PickleValue& PickleMachine::top() {
  const std::size_t bottom = marks_.empty() ? 0 : marks_.back();
  if (stack_.size() <= bottom) fail("its stack runs empty");
  return *stack_.back();
}

PickleMachine::Values PickleMachine::pop_to_mark() {
  if (marks_.empty()) fail("a mark is missing");
  const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
  marks_.pop_back();
  Values values(begin, stack_.end());
  stack_.erase(begin, stack_.end());
  return values;
}

PickleMachine::Values PickleMachine::pop_last(std::size_t count) {
  Values values(count);
  for (std::size_t i = count; i-- > 0;) values[i] = pop();
  return values;
}

void PickleMachine::push_list(Values items) {
  PickleValue* const list = make(PickleValue::Kind::kList);
  for (const PickleValue* item : items) deepen(*list, *item);
  list->items = std::move(items);
  push(list);
}

void PickleMachine::push_text(const std::optional<std::string>& text) {
  if (!text) fail("a string is spelled wrongly");
  push(make_text(PickleValue::Kind::kString, keep(*text)));
}

void PickleMachine::push_int(std::optional<std::int64_t> value, std::string_view spelled) {
  push(value ? make_int(*value) : make_text(PickleValue::Kind::kBigInt, spelled));
}

void PickleMachine::push_global(std::string_view module, std::string_view name) {
  const std::string_view global = keep(fmt::format("{}.{}", module, name));
  if (!rules_.allows || !rules_.allows(global))
    fail(fmt::format("it names {}{}", global, rules_.refusal));
  push(make_text(PickleValue::Kind::kGlobal, global));
}

void PickleMachine::push_object(const PickleValue& callee, const PickleValue& argument) {
  if (callee.kind != PickleValue::Kind::kGlobal || argument.kind != PickleValue::Kind::kList)
    fail("it calls what is no function");
  if (callee.text == "_codecs.encode") return push_encoded(argument);
  PickleValue* const object = make_text(PickleValue::Kind::kObject, callee.text);
  deepen(*object, argument);
  object->argument = &argument;
  push(object);
}

/// Python 3's bytes in protocol 2.
void PickleMachine::push_encoded(const PickleValue& argument) {
  const auto& items = argument.items;
  if (items.size() != 2 || items[0]->kind != PickleValue::Kind::kString ||
      items[1]->text != "latin1")
    fail("it calls _codecs.encode with unknown arguments");
  const auto bytes = encode_latin1(items[0]->text);
  if (!bytes) fail("a string that stands for bytes holds another character");
  push_text(bytes);
}

void PickleMachine::push_reference(PickleValue* argument) {
  if (!rules_.has_references) fail("it refers to values outside of it");
  PickleValue* const reference = make(PickleValue::Kind::kReference);
  deepen(*reference, *argument);
  reference->argument = argument;
  push(reference);
}

void PickleMachine::add_items(const Values& added) {
  PickleValue& list = top();
  if (list.kind != PickleValue::Kind::kList && list.kind != PickleValue::Kind::kObject)
    fail("it adds items to what is no list");
  for (const PickleValue* item : added) deepen(list, *item);
  list.items.insert(list.items.end(), added.begin(), added.end());
}

void PickleMachine::set_items(const Values& pairs) {
  PickleValue& dict = top();
  if (dict.kind != PickleValue::Kind::kDict && dict.kind != PickleValue::Kind::kObject)
    fail("it sets items of what is no dict");
  if (pairs.size() % 2 != 0) fail("a dict has a key without a value");
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    deepen(dict, *pairs[i]);
    deepen(dict, *pairs[i + 1]);
    dict.entries.emplace_back(pairs[i], pairs[i + 1]);
  }
}

void PickleMachine::set_state(const PickleValue& state) {
  PickleValue& object = top();
  if (object.kind != PickleValue::Kind::kObject) fail("it sets the state of what is no object");
  deepen(object, state);
  object.state = &state;
}

void PickleMachine::put(std::optional<std::uint64_t> key) {
  if (!key) fail("a place in its memo is spelled wrongly");
  memo_[*key] = &top();
}

void PickleMachine::get(std::optional<std::uint64_t> key) {
  const auto found = key ? memo_.find(*key) : memo_.end();
  if (found == memo_.end()) fail("it takes from its memo what is not there");
  push(found->second);
}

}  // namespace paceline::base
