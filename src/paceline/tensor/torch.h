#pragma once

// LibTorch for sources that define modules or autograd functions. torch/torch.h would cost twice as
// much to compile; this is the part of it that paceline uses.

#include "paceline/tensor/aten.h"

#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/nn/cloneable.h>
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
