#pragma once

#include "paceline/app/memory_estimate.h"

namespace paceline::app {

/// Address space, without memory, that is given back when there is no more: oneDNN asks the system
/// for the code that it compiles, and does not survive a refusal while the advice is measured.
class AddressReserve {
 public:
  AddressReserve();
  ~AddressReserve();
  AddressReserve(const AddressReserve&) = delete;
  AddressReserve& operator=(const AddressReserve&) = delete;

 private:
  void* place_;
};

/// To be called where an exception is at hand, once all that the run held, and its AddressReserve,
/// is freed. If it says that memory ran out, on the CPU or a GPU, throws ConfigError: what the
/// recipe needs by prediction, and which settings need no more than this process had got. Any other
/// is thrown again.
[[noreturn]] void rethrow_with_advice(const Recipe& recipe, const Registries& registries,
                                      int world_size, int ranks_per_node);

}  // namespace paceline::app
