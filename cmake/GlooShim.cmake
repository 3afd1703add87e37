# LibTorch's wheel ships Gloo without its headers; this one source finds our declarations of them.
# A source with include folders of its own also stays out of unity units.
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/paceline/comm/gloo/gloo_backend.cpp PROPERTIES
  INCLUDE_DIRECTORIES ${CMAKE_SOURCE_DIR}/src/paceline/comm/gloo/shim)
