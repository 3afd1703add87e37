#pragma once

// Own declarations in place of a header of Gloo that LibTorch's wheel does not ship; see
// gloo_backend.cpp.

namespace gloo::transport {

class Device;

class UnboundBuffer {
 public:
  virtual ~UnboundBuffer();
};

}  // namespace gloo::transport
