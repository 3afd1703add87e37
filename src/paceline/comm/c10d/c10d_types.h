#pragma once

#include "paceline/comm/communicator.h"
#include "paceline/tensor/aten.h"

#include <exception>
#include <string>

#include <torch/csrc/distributed/c10d/Types.hpp>

namespace paceline::comm {

/// LibTorch's name of a reduction of such elements.
c10d::ReduceOp to_c10d(ReduceOp op, at::ScalarType dtype);

/// The tensor's memory as bytes: collectives that only move data then work for every dtype. It must
/// be contiguous.
at::Tensor as_bytes(const at::Tensor& tensor);

/// What an exception of LibTorch says, in one line and without its stack trace.
std::string first_line(const std::exception& error);

}  // namespace paceline::comm
