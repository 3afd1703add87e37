#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace paceline::base {

/// A value of a Python pickle. All values of one live together, so that values may hold each other
/// in any way, also each itself: whoever walks them does so to a depth of its own.
struct PickleValue {
  enum class Kind {
    kNone,
    kInt,        ///< int and bool: `integer`
    kBigInt,     ///< an int of more than 64 bits: `text`, as the pickle spells it
    kReal,       ///< float: `real`
    kString,     ///< str and bytes: `text`; Python 2 does not tell them apart
    kList,       ///< list, tuple and set: `items`
    kDict,       ///< `entries`
    kGlobal,     ///< a function or class, by its name in `text`: "torch.Size"
    kObject,     ///< what the global `text` is to make of `argument`; with `state`, what was added
                 ///< to its list (`items`) and what was set in its dict (`entries`)
    kReference,  ///< a persistent id: `argument`
  };
  using Entry = std::pair<const PickleValue*, const PickleValue*>;

  Kind kind = Kind::kNone;
  int depth = 0;  ///< of values in it, when they came in
  std::int64_t integer = 0;
  double real = 0;
  std::string_view text;
  std::vector<const PickleValue*> items;
  std::vector<Entry>
      entries;  ///< in the order in which they were set; of equal keys the last counts
  const PickleValue* argument = nullptr;  ///< of an object a kList
  const PickleValue* state = nullptr;     ///< nullptr: none was set

  /// The value of a key that is a string; nullptr if there is none.
  const PickleValue* find(std::string_view key) const;
};

/// What a pickle may hold besides plain data.
struct PickleRules {
  /// Whether it may name this function or class, "module.name". None of them is ever called.
  std::function<bool(std::string_view global)> allows;
  std::string refusal;  ///< what a message says behind the name of another
  bool has_references = false;
};

/// The message says what is wrong and where, but not in which file.
struct PickleError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct ReadPickle {
  std::shared_ptr<const PickleValue> value;  ///< keeps all values alive, but not the bytes
  std::size_t num_bytes = 0;                 ///< that it takes up; others may follow
};

/// Reads a pickle of protocols 0 to 5. Nothing of it is run, and a name that the rules do not allow
/// is refused; what an object means is its reader's to say, but for `_codecs.encode(x, 'latin1')`,
/// which is a string. Texts are views of the bytes, which must outlive the values. Throws
/// PickleError, also for more values, operations, copies of its bytes or depth than files have.
ReadPickle read_pickle(std::span<const std::uint8_t> bytes, const PickleRules& rules);

}  // namespace paceline::base
