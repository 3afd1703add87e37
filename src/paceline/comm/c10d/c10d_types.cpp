#include "paceline/comm/c10d/c10d_types.h"

#include "paceline/base/error.h"

namespace paceline::comm {

c10d::ReduceOp to_c10d(ReduceOp op, at::ScalarType dtype) {
  switch (op) {
    case ReduceOp::kSum:
      // Gloo adds bools as bytes, which would leave bools that are neither true nor false.
      return dtype == at::kBool ? c10d::ReduceOp::MAX : c10d::ReduceOp::SUM;
    case ReduceOp::kMin:
      return c10d::ReduceOp::MIN;
    case ReduceOp::kMax:
      return c10d::ReduceOp::MAX;
  }
  throw base::InternalError("unknown ReduceOp");
}

at::Tensor as_bytes(const at::Tensor& tensor) {
  PACELINE_CHECK(tensor.is_contiguous(), "collectives need contiguous tensors");
  return tensor.variable_data().view({tensor.numel()}).view(at::kByte);
}

std::string first_line(const std::exception& error) {
  const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
  const std::string text =
      torch_error != nullptr ? torch_error->what_without_backtrace() : error.what();
  return text.substr(0, text.find('\n'));
}

}  // namespace paceline::comm
