#pragma once

#include "paceline/base/philox.h"

#include <cstddef>
#include <cstdint>

namespace paceline::tensor {

/// Elements that one call draws: whole Philox blocks of four words, enough of them for wide
/// vectors.
inline constexpr std::size_t kDrawChunk = 1024;

/// Element i of chunk c of a stream comes from word i % 4 of Philox block (1024 c + i) / 4. Written
/// as plain loops over arrays that the compiler turns into vector code, without libm, so that the
/// same key gives the same bits on every machine.
void uniform_chunk(const base::Philox& stream, std::uint32_t chunk,
                   float* out);  ///< in [0, 1), 24 bits

/// Standard normal draws by Box and Muller from consecutive pairs of words; their magnitude is at
/// most 5.8. Error of the elementary functions: below 2e-7.
void normal_chunk(const base::Philox& stream, std::uint32_t chunk, float* out);

}  // namespace paceline::tensor
