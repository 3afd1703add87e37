#pragma once

#include <cstdint>
#include <functional>

namespace paceline::tensor {

/// Calls `work` for 0 to count - 1 on the threads that LibTorch's own operations use, equally many
/// for each thread, and returns when all have ended. An exception of `work` comes out.
void run_intra_op(std::int64_t count, const std::function<void(std::int64_t)>& work);

}  // namespace paceline::tensor
