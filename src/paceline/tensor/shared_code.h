#pragma once

// Code that the program and a GPU share: a function, and its text for the GPU's compiler. Plain C++
// without any library, as NVRTC wants it; it knows sqrt by that name, so the source says
// `using std::sqrt;`.
#define PACELINE_CODE_AND_TEXT(text_name, ...) \
  __VA_ARGS__                                  \
  inline constexpr const char* text_name = #__VA_ARGS__;
