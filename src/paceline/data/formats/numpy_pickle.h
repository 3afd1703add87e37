#pragma once

#include "paceline/base/pickle/pickle.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::data {

/// Reads a pickle of plain data and NumPy arrays. Nothing of it is run: one that names any function
/// or class other than NumPy's array constructors is refused. Throws DataError; `name` is the
/// file's, for the message. The bytes must outlive the values.
std::shared_ptr<const base::PickleValue> read_numpy_pickle(std::span<const std::uint8_t> bytes,
                                                           const std::string& name);

/// A numpy.ndarray.
struct PickledArray {
  std::string_view dtype;  ///< as NumPy spells it, such as "u1" or "i8"
  std::vector<std::int64_t> shape;
  std::string_view bytes;  ///< in C order, as many as dtype and shape say
};

/// The array that a value of such a pickle stands for. Throws DataError if it is none, or one whose
/// bytes do not fit.
PickledArray pickled_array(const base::PickleValue& value, const std::string& name);

}  // namespace paceline::data
