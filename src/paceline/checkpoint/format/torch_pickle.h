#pragma once

#include "paceline/base/pickle/pickle.h"
#include "paceline/tensor/aten.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::checkpoint {

/// What PyTorch's pickles say of tensors. They hold what torch.load(weights_only=True) takes: plain
/// data, and the classes and functions that tensors are made of (torch/_weights_only_unpickler.py).

/// Reads such a pickle. Throws PickleError, for any other class or function with its name and the
/// cure.
base::ReadPickle read_torch_pickle(std::span<const std::uint8_t> bytes);

/// Where a tensor's elements lie.
struct StorageReference {
  std::string_view key;    ///< of the storage in its file
  at::ScalarType dtype{};  ///< of its elements; bytes if is_untyped
  bool is_untyped = false;
  std::int64_t numel = 0;   ///< in elements of dtype
  std::int64_t offset = 0;  ///< of the first element that is meant, of an old view
};

/// A tensor as a view of a storage.
struct TensorReference {
  StorageReference storage;
  at::ScalarType dtype{};
  std::int64_t offset = 0;  ///< of its first element in the storage, in elements of dtype
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  ///< in elements
};

/// The storage that a persistent id stands for. Throws PickleError.
StorageReference storage_reference(const base::PickleValue& value);

/// The tensor or parameter that a value stands for; nothing if it is something else. Throws
/// PickleError if it is a tensor of another kind than dense ones: sparse, quantised, nested or
/// without values.
std::optional<TensorReference> tensor_reference(const base::PickleValue& value);

/// Whether it is a dict or OrderedDict, with `entries`.
bool is_dict(const base::PickleValue& value);

/// Calls `visit` for all values that can be reached, once each.
void visit_values(const base::PickleValue& root,
                  const std::function<void(const base::PickleValue&)>& visit);

}  // namespace paceline::checkpoint
