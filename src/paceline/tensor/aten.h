#pragma once

// LibTorch for sources that compute with tensors but define no modules.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>  // first: without it clang rejects LibTorch's headers in C++20 mode
