#pragma once

// Own declarations in place of a header of Gloo that LibTorch's wheel does not ship; see
// gloo_backend.cpp.

#include <chrono>

namespace gloo {

class Context {
 public:
  void setTimeout(std::chrono::milliseconds timeout);
};

}  // namespace gloo
