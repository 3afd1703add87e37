#pragma once

#include <memory>

#include <experimental/propagate_const>

namespace paceline::base {

/// A std::unique_ptr through which a const owner sees a const T, as if it held T itself.
template <class T>
using Owned = std::experimental::propagate_const<std::unique_ptr<T>>;

}  // namespace paceline::base
