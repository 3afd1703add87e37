#pragma once

#include "paceline/tensor/fwd.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

namespace paceline::tensor {

/// What a pass over memory does besides an update.
template <typename T>
struct PassExtras {
  T input_factor = 1;    ///< multiplies each input as it is read
  T* average = nullptr;  ///< of the pass's elements: moves towards the first of the new values
  T share = 0;           ///< how far: as at::lerp, to the last bit
};

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
                    std::int64_t size, const PassExtras<float>& extras) = nullptr;
  void (*on_doubles)(const double* input, double* const* values, const double* scalars,
                     std::int64_t size, const PassExtras<double>& extras) = nullptr;
};

/// PassExtras of an update of tensors.
struct UpdateExtras {
  double input_factor = 1;
  const at::Tensor* average = nullptr;  ///< laid out like the values; null: none
  double share = 0;

  bool are_none() const { return input_factor == 1 && average == nullptr; }
};

/// Gives every element of `values` its new value in place: on the host in one pass over memory, on
/// this rank's threads; a GPU writes the new values beside the old ones first. All tensors, `input`
/// among them, have the same sizes, strides, dtype (float32 or float64) and device, and lie without
/// gaps. Where `skip`, a scalar beside them, is defined and not 0, all stays as it is, but an
/// average moves towards what is there. Tells autograd nothing. Extras are for the host.
void update_elements(const ElementUpdate& update, const at::Tensor& input,
                     std::span<const at::Tensor> values, std::span<const double> scalars,
                     const at::Tensor& skip, const UpdateExtras& extras = {});

/// average + share * (value - average), rounded as at::lerp does on the host: it counts from the
/// value for a share of a half or more. `share` is not below 0.
template <typename T>
T moved(T average, T value, T share) {
  return share < T(0.5) ? std::fma(share, value - average, average)
                        : std::fma(share - 1, value - average, value);
}

namespace detail {

template <typename Function>
struct ElementFunction;
template <typename... Arguments>
struct ElementFunction<void (*)(Arguments...)> {
  static constexpr std::size_t kNumValues = (std::size_t{std::is_reference_v<Arguments>} + ...);
  static constexpr std::size_t kNumScalars = sizeof...(Arguments) - 1 - 2 * kNumValues;
};

enum class Averaging { kNone, kSmallShare, kLargeShare };

template <typename T, auto kFunction, Averaging kAveraging, std::size_t... kValues,
          std::size_t... kScalars>
[[gnu::optimize("O3")]]  // or it is not vectorised
void run_over_elements(const T* input, T* const* values, const T* scalars, std::int64_t size,
                       const PassExtras<T>& extras, std::index_sequence<kValues...>,
                       std::index_sequence<kScalars...>) {
  const std::array<T*, sizeof...(kValues)> value{values[kValues]...};
  const std::array<T, sizeof...(kScalars)> scalar{scalars[kScalars]...};
  const auto [input_factor, average, share] = extras;
#pragma GCC ivdep
  for (std::int64_t i = 0; i < size; ++i) {
    std::array<T, sizeof...(kValues)> next;
    kFunction(input[i] * input_factor, value[kValues][i]..., scalar[kScalars]..., next[kValues]...);
    ((value[kValues][i] = next[kValues]), ...);
    // As moved(), of which a loop with both cases would keep fewer elements in flight.
    if constexpr (kAveraging == Averaging::kSmallShare)
      average[i] = std::fma(share, next[0] - average[i], average[i]);
    if constexpr (kAveraging == Averaging::kLargeShare)
      average[i] = std::fma(share - 1, next[0] - average[i], next[0]);
  }
}

template <typename T, auto kFunction>
void run_over_elements(const T* input, T* const* values, const T* scalars, std::int64_t size,
                       const PassExtras<T>& extras) {
  using Function = ElementFunction<decltype(kFunction)>;
  const auto run = [&]<Averaging kAveraging>() {
    run_over_elements<T, kFunction, kAveraging>(input, values, scalars, size, extras,
                                                std::make_index_sequence<Function::kNumValues>(),
                                                std::make_index_sequence<Function::kNumScalars>());
  };
  if (extras.average == nullptr) return run.template operator()<Averaging::kNone>();
  if (extras.share < T(0.5)) return run.template operator()<Averaging::kSmallShare>();
  run.template operator()<Averaging::kLargeShare>();
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
