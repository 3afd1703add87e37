#pragma once

#include "paceline/tensor/fwd.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace paceline::nn {

// A weight [out, in, ...] may be two: a first factor [latent, in, ...], which a layer below it
// named kToLatent has, and a second one [out, latent] or [out, latent, 1, 1], which takes its name.

inline constexpr std::string_view kToLatent = "to_latent";

/// Whether a module of this name is a first factor's layer, or a parameter of it is that layer's:
/// "fc.to_latent", "fc.to_latent.weight".
bool is_of_first_factor(std::string_view name);

/// A parameter of these sizes beside `weight`: of its type, on its device, in its memory order and
/// trained if it is, without memory (tensor/storage.h).
at::Tensor parameter_beside(const at::Tensor& weight, std::span<const std::int64_t> sizes);

struct Factors {
  at::Tensor first;
  at::Tensor second;
};

/// The factors whose product is nearest to `weight` in the sum of squares, each with the roots of
/// the `latent` largest singular values in it; float64, on the host. `latent` is at most what the
/// matrix [out, in * ...] has rows and columns. Paper: Eckart and Young, "The approximation of one
/// matrix by another of lower rank", Psychometrika 1936.
Factors nearest_factors(const at::Tensor& weight, std::int64_t latent);

}  // namespace paceline::nn
