#pragma once

#include "paceline/tensor/aten.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace paceline::checkpoint {

/// "F32" and so on, as safetensors spells it. Throws CheckpointError for a dtype that its files
/// cannot hold, which is_saved_dtype() tells.
std::string_view dtype_name(at::ScalarType dtype);
bool is_saved_dtype(at::ScalarType dtype);
/// The reverse; nothing for an unknown name.
std::optional<at::ScalarType> dtype_from_name(std::string_view name);

/// Bytes of a tensor; nothing when the shape has a negative size or the product overflows.
std::optional<std::uint64_t> checked_byte_size(std::span<const std::int64_t> shape,
                                               at::ScalarType dtype);
/// Elements of a tensor; the same rules.
std::optional<std::int64_t> checked_numel(std::span<const std::int64_t> shape);

/// "[64, 3, 7, 7]"
std::string shape_text(std::span<const std::int64_t> shape);

}  // namespace paceline::checkpoint
