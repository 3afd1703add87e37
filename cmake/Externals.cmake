# The libraries that layers.txt names, each as target paceline::ext::<name>.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(yaml-cpp REQUIRED)

function(paceline_external name)
  add_library(paceline_ext_${name} INTERFACE)
  target_link_libraries(paceline_ext_${name} INTERFACE ${ARGN})
  add_library(paceline::ext::${name} ALIAS paceline_ext_${name})
endfunction()

paceline_external(fmt fmt::fmt)
# LibTorch's include folder carries another fmt; this folder stands before it, so that all of paceline
# sees the one it links.
get_target_property(fmt_include fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/include_first)
file(CREATE_LINK ${fmt_include}/fmt ${CMAKE_BINARY_DIR}/include_first/fmt SYMBOLIC)
target_include_directories(paceline_ext_fmt SYSTEM INTERFACE ${CMAKE_BINARY_DIR}/include_first)
paceline_external(spdlog spdlog::spdlog)
paceline_external(nlohmann nlohmann_json::nlohmann_json)
paceline_external(yaml-cpp yaml-cpp)
paceline_external(threads Threads::Threads)
paceline_external(dl ${CMAKE_DL_LIBS})
paceline_external(xxhash xxhash)
paceline_external(turbojpeg turbojpeg)
paceline_external(jpeg jpeg)
paceline_external(png png)
paceline_external(tiff tiff)
paceline_external(webp webpdemux webp)
paceline_external(zlib z)
paceline_external(archive archive)
paceline_external(nettle nettle)
paceline_external(highway hwy)
paceline_external(cli11)       # headers only
paceline_external(protozero)   # headers only

# The memory allocator of the programs that train (docs/decisions/0006); sanitizers bring their own.
if(PACELINE_SANITIZE)
  paceline_external(allocator)
else()
  paceline_external(allocator -Wl,--push-state,--no-as-needed tcmalloc_minimal -Wl,--pop-state)
endif()

if(NOT PACELINE_TORCH_FREE)
  include(FindLibTorch)
  paceline_external(torch paceline_libtorch)
endif()
