#include "paceline/tensor/intra_op.h"

#include "paceline/tensor/aten.h"

#include <ATen/TensorIterator.h>

namespace paceline::tensor {

void run_intra_op(std::int64_t count, const std::function<void(std::int64_t)>& work) {
  // at::parallel_for would be a plain loop here: its threads are for sources compiled with OpenMP.
  // An iterator's loop is in LibTorch.
  const at::Tensor indices = at::arange(count);
  at::TensorIterator::borrowing_nullary_op(indices).for_each(
      [&](char** data, const std::int64_t* strides, std::int64_t columns, std::int64_t rows) {
        for (std::int64_t row = 0; row < rows; ++row) {
          for (std::int64_t column = 0; column < columns; ++column) {
            const char* const place = data[0] + row * strides[1] + column * strides[0];
            work(*reinterpret_cast<const std::int64_t*>(place));
          }
        }
      },
      /*grain_size=*/1);
}

}  // namespace paceline::tensor
