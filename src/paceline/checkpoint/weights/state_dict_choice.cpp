#include "paceline/checkpoint/weights/state_dict_choice.h"

#include "paceline/base/error.h"
#include "paceline/base/text.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>

#include <fmt/format.h>

namespace paceline::checkpoint {
namespace {

using base::PickleValue;
using Kind = PickleValue::Kind;

constexpr std::size_t kMostNamed = 10;

// torch's own examples; MMEngine, Lightning and timm; Composer; DeiT and fairseq.
constexpr std::array<std::string_view, 4> kUsualKeys{"model_state_dict", "state_dict",
                                                     "state.model", "model"};

bool is_tensor(const PickleValue& value) {
  try {
    return tensor_reference(value).has_value();
  } catch (const base::PickleError&) {
    return true;  // a damaged or an odd one, which is told when it is taken
  }
}

/// Whether it is what load_state_dict() takes: tensors by their names, at least one.
bool holds_tensors(const PickleValue& value) {
  return is_dict(value) && std::ranges::any_of(value.entries, [](const PickleValue::Entry& entry) {
           return entry.first->kind == Kind::kString && is_tensor(*entry.second);
         });
}

/// Under a key as it stands, or under one part of it after the other; nullptr if there is none.
const PickleValue* find_path(const PickleValue& value, std::string_view key) {
  if (!is_dict(value)) return nullptr;
  if (const PickleValue* const whole = value.find(key)) return whole;
  for (std::size_t dot = key.find('.'); dot != std::string_view::npos;
       dot = key.find('.', dot + 1)) {
    const PickleValue* const part = value.find(key.substr(0, dot));
    if (part == nullptr) continue;
    if (const PickleValue* const found = find_path(*part, key.substr(dot + 1))) return found;
  }
  return nullptr;
}

std::string what_it_is(const PickleValue& value) {
  if (holds_tensors(value)) return "tensors";
  if (is_tensor(value)) return "a tensor";
  switch (value.kind) {
    case Kind::kInt:
    case Kind::kBigInt:
      return "an integer";
    case Kind::kReal:
      return "a number";
    case Kind::kString:
      return "text";
    case Kind::kNone:
      return "None";
    case Kind::kList:
      return "a list";
    default:
      return is_dict(value) ? "a dict" : std::string(value.text);
  }
}

/// "epoch (an integer), model (a dict)"
std::string keys_of(const PickleValue& value) {
  std::vector<std::string> keys;
  if (is_dict(value)) {
    for (const auto& [key, entry] : value.entries)
      keys.push_back(fmt::format(
          "{} ({})", key->kind == Kind::kString ? base::excerpt(key->text) : what_it_is(*key),
          what_it_is(*entry)));
  }
  return keys.empty() ? "nothing" : base::join_first(keys, kMostNamed);
}

struct Choice {
  const PickleValue* dict;
  std::string key;  ///< "": the file's own
};

std::optional<Choice> find_choice(const PickleValue& value, const std::string& key) {
  if (!key.empty()) {
    const PickleValue* const found = find_path(value, key);
    return found && holds_tensors(*found) ? std::optional(Choice{found, key}) : std::nullopt;
  }
  if (holds_tensors(value)) return Choice{&value, ""};
  for (const std::string_view usual : kUsualKeys) {
    const PickleValue* const found = find_path(value, usual);
    if (found && holds_tensors(*found)) return Choice{found, std::string(usual)};
  }
  return std::nullopt;
}

/// Other dicts of tensors beside the chosen one.
std::vector<std::string> other_choices(const PickleValue& value, const PickleValue* chosen) {
  std::vector<std::string> keys;
  if (chosen == &value || !is_dict(value)) return keys;
  for (const auto& [key, entry] : value.entries) {
    if (key->kind == Kind::kString && entry != chosen && holds_tensors(*entry))
      keys.emplace_back(key->text);
  }
  return keys;
}

[[noreturn]] void throw_no_choice(const TorchFile& file, const std::string& key) {
  const PickleValue& value = file.value();
  const std::string wanted =
      key.empty() ? "no weights where programs keep them"
                  : fmt::format("no dict of tensors under model.pretrained_key: {}", key);
  std::string cure = "write them in Python with torch.save(model.state_dict(), FILE)";
  if (const auto others = other_choices(value, nullptr); !others.empty())
    cure = fmt::format("set model.pretrained_key to one of {}", base::join(others, ", "));
  throw base::CheckpointError(fmt::format("{}: {}; it holds {}: {}", file.path().string(), wanted,
                                          is_dict(value) ? keys_of(value) : what_it_is(value),
                                          cure));
}

}  // namespace

ChosenStateDict choose_state_dict(const TorchFile& file, const std::string& key) {
  const auto choice = find_choice(file.value(), key);
  if (!choice) throw_no_choice(file, key);
  ChosenStateDict chosen;
  if (!choice->key.empty())
    chosen.notes.push_back(fmt::format("taken from '{}' in the file", choice->key));
  if (const auto others = other_choices(file.value(), choice->dict); !others.empty() && key.empty())
    chosen.notes.push_back(
        fmt::format("the file also holds tensors under {}: model.pretrained_key chooses",
                    base::join_first(others, kMostNamed)));
  std::vector<std::string> left_out;
  std::map<std::string_view, std::size_t> numbers;  // of tensors, by name; the last one counts
  for (const auto& [name, value] : choice->dict->entries) {
    const bool has_name = name->kind == Kind::kString;
    auto tensor = has_name ? file.find_tensor(*value, name->text) : std::nullopt;
    if (!tensor) {
      left_out.push_back(has_name ? base::excerpt(name->text) : what_it_is(*name));
      continue;
    }
    const auto [known, is_new] = numbers.emplace(name->text, chosen.tensors.size());
    if (is_new) {
      chosen.tensors.emplace_back(name->text, std::move(*tensor));
    } else {
      chosen.tensors[known->second].second = std::move(*tensor);
    }
  }
  if (!left_out.empty())
    chosen.notes.push_back(fmt::format("left out, as they are no tensors: {}",
                                       base::join_first(left_out, kMostNamed)));
  return chosen;
}

}  // namespace paceline::checkpoint
