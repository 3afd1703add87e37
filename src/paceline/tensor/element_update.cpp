#include "paceline/tensor/element_update.h"

#include "paceline/base/error.h"
#include "paceline/tensor/aten.h"

#include <algorithm>
#include <string>
#include <vector>

#include <torch/library.h>

namespace paceline::tensor {
namespace {

constexpr std::int64_t kWorthAThread = 32'768;  // elements

template <typename T>
using RunOnHost = void (*)(const T*, T* const*, const T*, std::int64_t, const PassExtras<T>&);

template <typename T>
void run_on_host(RunOnHost<T> run, const at::Tensor& input, std::span<const at::Tensor> values,
                 std::span<const double> scalars, const UpdateExtras& extras) {
  const auto* const from = input.const_data_ptr<T>();
  std::vector<T*> to;
  for (const at::Tensor& value : values) to.push_back(value.mutable_data_ptr<T>());
  const std::vector<T> numbers(scalars.begin(), scalars.end());
  T* const average = extras.average == nullptr ? nullptr : extras.average->mutable_data_ptr<T>();
  at::parallel_for(0, input.numel(), kWorthAThread, [&](std::int64_t begin, std::int64_t end) {
    std::vector<T*> piece(to);
    for (T*& pointer : piece) pointer += begin;
    run(from + begin, piece.data(), numbers.data(), end - begin,
        {.input_factor = static_cast<T>(extras.input_factor),
         .average = average == nullptr ? nullptr : average + begin,
         .share = static_cast<T>(extras.share)});
  });
}

void check(const ElementUpdate& update, const at::Tensor& input, std::span<const at::Tensor> values,
           std::span<const double> scalars, const UpdateExtras& extras) {
  PACELINE_CHECK(extras.are_none() || input.is_cpu(), "{}: extras on a device", update.name);
  PACELINE_CHECK(values.size() == update.num_values && scalars.size() == update.num_scalars,
                 "{}: {} values and {} scalars, not {} and {}", update.name, values.size(),
                 scalars.size(), update.num_values, update.num_scalars);
  const auto is_alike = [&](const at::Tensor& value) {
    return value.sizes() == input.sizes() && value.strides() == input.strides() &&
           value.scalar_type() == input.scalar_type() && value.device() == input.device();
  };
  const bool are_alike = std::ranges::all_of(values, is_alike) &&
                         (extras.average == nullptr || is_alike(*extras.average));
  PACELINE_CHECK(are_alike && input.is_non_overlapping_and_dense(),
                 "{}: tensors differ in sizes, strides, dtype or device, or have gaps",
                 update.name);
}

TORCH_LIBRARY_FRAGMENT(paceline, library) {
  library.def(
      "update_elements(str name, str text, Tensor input, Tensor(a!)[] values, float[] scalars, "
      "Tensor? skip) -> ()");
}

}  // namespace

void update_elements(const ElementUpdate& update, const at::Tensor& input,
                     std::span<const at::Tensor> values, std::span<const double> scalars,
                     const at::Tensor& skip, const UpdateExtras& extras) {
  check(update, input, values, scalars, extras);
  if (!input.is_cpu()) {
    using Run = void(c10::string_view, c10::string_view, const at::Tensor&, at::TensorList,
                     at::ArrayRef<double>, const std::optional<at::Tensor>&);
    static const auto run = c10::Dispatcher::singleton()
                                .findSchemaOrThrow("paceline::update_elements", "")
                                .typed<Run>();
    run.call(update.name, update.text, input, {values.data(), values.size()},
             {scalars.data(), scalars.size()}, skip.defined() ? std::optional(skip) : std::nullopt);
    return;
  }
  if (skip.defined() && skip.item<double>() != 0) {
    if (extras.average != nullptr) extras.average->lerp_(values.front(), extras.share);
    return;
  }
  if (input.scalar_type() == at::kDouble)
    return run_on_host<double>(update.on_doubles, input, values, scalars, extras);
  PACELINE_CHECK(input.scalar_type() == at::kFloat, "{}: neither float32 nor float64", update.name);
  run_on_host<float>(update.on_floats, input, values, scalars, extras);
}

}  // namespace paceline::tensor
