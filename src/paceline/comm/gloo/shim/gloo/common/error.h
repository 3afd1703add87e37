#pragma once

// Own declarations in place of a header of Gloo that LibTorch's wheel does not ship; see
// gloo_backend.cpp.
