#pragma once

#include "paceline/tensor/fwd.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

namespace paceline::tensor {

/// What becomes of one element of several tensors, whatever the others are: a function
///
///   template <typename T> void NAME(T input, T value_1, ..., T scalar_1, ..., T& new_1, ...)
///
/// of an input, of values, each of which gets a new one, and of scalars that all elements share.
/// Made by element_update().
struct ElementUpdate {
  const char* name = nullptr;  ///< of the function
  const char* text = nullptr;  ///< its code, for a GPU's compiler
  std::size_t num_values = 0;
  std::size_t num_scalars = 0;
  /// On the host, for `size` elements that lie in a row.
  void (*on_floats)(const float* input, float* const* values, const float* scalars,
                    std::int64_t size) = nullptr;
  void (*on_doubles)(const double* input, double* const* values, const double* scalars,
                     std::int64_t size) = nullptr;
};

/// Gives every element of `values` its new value in place: on the host in one pass over memory, on
/// this rank's threads; a GPU writes the new values beside the old ones first. All tensors, `input`
/// among them, have the same sizes, strides, dtype (float32 or float64) and device, and lie without
/// gaps. Where `skip`, a scalar beside them, is defined and not 0, all stays as it is. Tells
/// autograd nothing.
void update_elements(const ElementUpdate& update, const at::Tensor& input,
                     std::span<const at::Tensor> values, std::span<const double> scalars,
                     const at::Tensor& skip);

namespace detail {

template <typename Function>
struct ElementFunction;
template <typename... Arguments>
struct ElementFunction<void (*)(Arguments...)> {
  static constexpr std::size_t kNumValues = (std::size_t{std::is_reference_v<Arguments>} + ...);
  static constexpr std::size_t kNumScalars = sizeof...(Arguments) - 1 - 2 * kNumValues;
};

template <typename T, auto kFunction, std::size_t... kValues, std::size_t... kScalars>
[[gnu::optimize("O3")]]  // or it is not vectorised
void run_over_elements(const T* input, T* const* values, const T* scalars, std::int64_t size,
                       std::index_sequence<kValues...>, std::index_sequence<kScalars...>) {
  const std::array<T*, sizeof...(kValues)> value{values[kValues]...};
  const std::array<T, sizeof...(kScalars)> scalar{scalars[kScalars]...};
#pragma GCC ivdep
  for (std::int64_t i = 0; i < size; ++i) {
    std::array<T, sizeof...(kValues)> next;
    kFunction(input[i], value[kValues][i]..., scalar[kScalars]..., next[kValues]...);
    ((value[kValues][i] = next[kValues]), ...);
  }
}

template <typename T, auto kFunction>
void run_over_elements(const T* input, T* const* values, const T* scalars, std::int64_t size) {
  using Function = ElementFunction<decltype(kFunction)>;
  run_over_elements<T, kFunction>(input, values, scalars, size,
                                  std::make_index_sequence<Function::kNumValues>(),
                                  std::make_index_sequence<Function::kNumScalars>());
}

}  // namespace detail

/// Of the function for floats and for doubles, which PACELINE_CODE_AND_TEXT made with its text.
template <auto kOfFloats, auto kOfDoubles>
constexpr ElementUpdate element_update(const char* name, const char* text) {
  using Function = detail::ElementFunction<decltype(kOfFloats)>;
  return {name,
          text,
          Function::kNumValues,
          Function::kNumScalars,
          &detail::run_over_elements<float, kOfFloats>,
          &detail::run_over_elements<double, kOfDoubles>};
}

}  // namespace paceline::tensor
