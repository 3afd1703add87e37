#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace paceline::data {

/// A value of a Python pickle. All values of one live together, so that values may hold each other
/// in any way, and however deep.
struct PickleValue {
  enum class Kind {
    kNone,
    kInt,     ///< int and bool: `integer`
    kReal,    ///< float: `real`
    kString,  ///< str and bytes: `text`; Python 2 does not tell them apart
    kList,    ///< list and tuple: `items`
    kDict,    ///< `entries`; keys are strings
    kArray,   ///< numpy.ndarray: `shape`, `dtype` and its bytes in C order in `text`
    kDtype,   ///< numpy.dtype: `dtype`
    kGlobal,  ///< a function or class that is allowed, by its name in `text`
  };

  Kind kind = Kind::kNone;
  std::int64_t integer = 0;
  double real = 0;
  std::string text;
  std::vector<PickleValue*> items;
  std::map<std::string, PickleValue*> entries;
  std::vector<std::int64_t> shape;
  int depth = 0;      ///< of values in it, when it was made
  std::string dtype;  ///< as NumPy spells it, such as "u1" or "i8"
};

/// Keeps all values alive.
using PicklePointer = std::shared_ptr<const PickleValue>;

/// Reads a pickle of protocols 2 to 5 that holds plain data and NumPy arrays. Nothing of it is run:
/// a pickle that names any function or class other than NumPy's array constructors is refused.
/// Throws DataError, also for one that is nested deeper or holds more than data sets do; `name` is
/// the file's, for the message.
PicklePointer read_pickle(std::span<const std::uint8_t> bytes, const std::string& name);

}  // namespace paceline::data
