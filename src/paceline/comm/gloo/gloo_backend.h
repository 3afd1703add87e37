#pragma once

#include <chrono>
#include <string>

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace paceline::comm {

/// LibTorch's Gloo backend over the interface that has `address`, fully connected; it accepts no
/// connection from then on. Every rank must call it; `store` must be this group's own. Throws what
/// LibTorch throws.
c10::intrusive_ptr<c10d::Backend> make_gloo_backend(const c10::intrusive_ptr<c10d::Store>& store,
                                                    int rank, int world_size,
                                                    const std::string& address,
                                                    std::chrono::milliseconds timeout);

}  // namespace paceline::comm
