#pragma once

#include "paceline/comm/communicator.h"
#include "paceline/nn/module_tree.h"
#include "paceline/tensor/state_shard.h"

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace paceline::parallel {

using nn::NamedTensor;

/// The parameters that require gradients, in registration order; a tied one comes once, under its
/// first name. Throws ConfigError if there is none.
std::vector<NamedTensor> trainable_parameters(const torch::nn::Module& module);

/// All parameters, those that require gradients first, each once.
std::vector<NamedTensor> all_parameters(const torch::nn::Module& module);

/// Has all but these require gradients.
void freeze_only(std::span<const NamedTensor> parameters, const std::set<std::string>& names);

/// What gradients do not change: frozen parameters, and buffers. Each once.
std::vector<NamedTensor> frozen_parameters(const torch::nn::Module& module);
std::vector<NamedTensor> module_buffers(const torch::nn::Module& module);

/// All of it, as state_dict orders and names it: what is saved.
std::vector<NamedTensor> module_state(const torch::nn::Module& module);

/// Adds what this rank has of its own of buffers that are not synchronised.
void append_own_buffers(std::vector<tensor::StateShard>& shards,
                        std::span<const NamedTensor> buffers,
                        const comm::Communicator& communicator);

/// Of all their elements.
std::uint64_t bytes_of(std::span<const NamedTensor> tensors);

/// Throws InternalError that names a parameter without memory to which nothing gives values. Every
/// rank must call it.
void check_fill(const std::function<void(const NamedTensor&)>& fill, const std::string& name);

/// For messages: "'a', 'b'", or the first ten and how many more.
std::string list_names(std::span<const std::string> names);

}  // namespace paceline::parallel
