# libpaceline_cuda.so: everything that sees CUDA, from the cuda/ folder of each module. The program loads
# it with dlopen when the machine has a driver, so one build serves machines with and without GPUs. No
# nvcc: the sources are plain C++. Headers come from the CUDA toolkit or from the wheels that
# deps/cuda_wheels.txt names, which lie beside LibTorch.
set(nvidia_dir ${PACELINE_TORCH_DIR}/../nvidia)
set(toolkit_dir "$ENV{CUDA_HOME}")
if(NOT toolkit_dir)
  set(toolkit_dir /usr/local/cuda)
endif()
set(cuda_include_dirs "")
set(missing_headers "")
foreach(header cuda_runtime.h crt/host_config.h cublas_v2.h cusparse.h cusolverDn.h nccl.h
        nvtx3/nvToolsExt.h)
  string(MAKE_C_IDENTIFIER PACELINE_CUDA_${header} variable)
  find_path(${variable} ${header} NO_DEFAULT_PATH PATHS
    ${toolkit_dir}/include ${nvidia_dir}/cu13/include ${nvidia_dir}/nccl/include /usr/include)
  mark_as_advanced(${variable})
  if(${variable})
    list(APPEND cuda_include_dirs ${${variable}})
  else()
    list(APPEND missing_headers ${header})
  endif()
endforeach()
if(missing_headers)
  list(JOIN missing_headers ", " missing_headers)
  message(FATAL_ERROR "the CUDA plug-in needs ${missing_headers}: run ./dev build --preset cuda, which fetches "
                      "the wheels of deps/cuda_wheels.txt, or set CUDA_HOME to a whole CUDA 13 toolkit")
endif()
list(REMOVE_DUPLICATES cuda_include_dirs)
list(REMOVE_ITEM cuda_include_dirs /usr/include)

# paceline_cuda_library(TARGET PATTERN...): TARGET, a shared library in lib/, sees CUDA's headers and links LibTorch's
# CUDA half. The PATTERNs are as in paceline_runtime_folder().
set(PACELINE_CUDA_INCLUDE_DIRS ${cuda_include_dirs})
function(paceline_cuda_library target)
  set_target_properties(${target} PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib UNITY_BUILD OFF CXX_VISIBILITY_PRESET hidden)
  paceline_runtime_folder(${target} ${PACELINE_TORCH_DIR}/lib ${ARGN})
  target_compile_definitions(${target} PRIVATE USE_C10D_NCCL)
  target_include_directories(${target} SYSTEM PRIVATE ${PACELINE_CUDA_INCLUDE_DIRS})
  target_link_libraries(${target} PRIVATE paceline_compile_options paceline::ext::fmt paceline::ext::torch
    -Wl,--no-as-needed ${PACELINE_TORCH_DIR}/lib/libtorch_cuda.so ${PACELINE_TORCH_DIR}/lib/libc10_cuda.so
    -Wl,--as-needed)
endfunction()

file(GLOB cuda_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/paceline/*/cuda/*.cpp)
add_library(paceline_cuda SHARED ${cuda_sources})
paceline_cuda_library(paceline_cuda torch/lib/*.so nvidia/*.so.*)
