# LibTorch's CPU half as target paceline_libtorch. find_package(Torch) is not used: for a CUDA wheel
# it wants the CUDA toolkit, and the umbrella libtorch.so would drag libtorch_cuda in.
set(PACELINE_TORCH_DIR "$ENV{PACELINE_TORCH_DIR}" CACHE PATH
    "The torch folder of a LibTorch 2.11 wheel (holds include/ and lib/)")
if(NOT PACELINE_TORCH_DIR)
  set(PACELINE_TORCH_DIR ${CMAKE_CURRENT_LIST_DIR}/../.deps/torch)
endif()
get_filename_component(PACELINE_TORCH_DIR "${PACELINE_TORCH_DIR}" ABSOLUTE)
set(version_header ${PACELINE_TORCH_DIR}/include/torch/headeronly/version.h)
if(NOT EXISTS ${version_header} OR NOT EXISTS ${PACELINE_TORCH_DIR}/lib/libtorch_cpu.so)
  message(FATAL_ERROR "no LibTorch in ${PACELINE_TORCH_DIR}: run ./dev build, which fetches it, or "
                      "set PACELINE_TORCH_DIR to the torch folder of a 2.11 wheel")
endif()
set(PACELINE_TORCH_VERSION "")
foreach(part MAJOR MINOR PATCH)
  file(STRINGS ${version_header} line REGEX "define TORCH_VERSION_${part} ")
  string(REGEX MATCH "[0-9]+$" number "${line}")
  list(APPEND PACELINE_TORCH_VERSION ${number})
endforeach()
list(JOIN PACELINE_TORCH_VERSION "." PACELINE_TORCH_VERSION)
if(PACELINE_TORCH_VERSION VERSION_LESS 2.11)
  message(FATAL_ERROR "paceline needs LibTorch 2.11 or newer; ${PACELINE_TORCH_DIR} holds "
                      "${PACELINE_TORCH_VERSION}")
endif()

add_library(paceline_libtorch INTERFACE)
target_include_directories(paceline_libtorch SYSTEM INTERFACE
  ${PACELINE_TORCH_DIR}/include ${PACELINE_TORCH_DIR}/include/torch/csrc/api/include)
target_compile_definitions(paceline_libtorch INTERFACE
  _GLIBCXX_USE_CXX11_ABI=1 USE_DISTRIBUTED USE_C10D_GLOO AT_PER_OPERATOR_HEADERS)
target_link_libraries(paceline_libtorch INTERFACE
  ${PACELINE_TORCH_DIR}/lib/libtorch_cpu.so ${PACELINE_TORCH_DIR}/lib/libc10.so)
target_link_options(paceline_libtorch INTERFACE
  -Wl,-rpath-link,${PACELINE_TORCH_DIR}/lib -Wl,--allow-shlib-undefined)
