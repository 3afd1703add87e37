# What an installation holds: the programs, the recipes, and what `find_package(paceline)` users get, with the
# libraries that ./dev fetched (RuntimeLibraries.cmake) and their headers. It can be moved and needs no clone.
# install_manifest.txt lists the public headers; what is not there is not installed and may change at any time.
include(CMakePackageConfigHelpers)
set(package_dir lib/cmake/paceline)

file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/install_manifest.txt public_headers REGEX "^[a-z]")
foreach(header IN LISTS public_headers)
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${CMAKE_SOURCE_DIR}/src/paceline/${header} DESTINATION include/paceline/${folder})
endforeach()

add_custom_target(installation)  # what ./dev install builds
set(PACELINE_INSTALLED_MODULES "")
get_property(modules GLOBAL PROPERTY PACELINE_MODULES)
foreach(module IN LISTS modules)
  get_target_property(type paceline_${module} TYPE)
  if(type STREQUAL STATIC_LIBRARY AND NOT module STREQUAL launcher)
    install(FILES $<TARGET_FILE:paceline_${module}> DESTINATION lib/paceline)
    add_dependencies(installation paceline_${module})
    list(APPEND PACELINE_INSTALLED_MODULES ${module})
  endif()
endforeach()
install(TARGETS paceline RUNTIME DESTINATION bin)
install(TARGETS paceline-rank RUNTIME DESTINATION libexec)
install(TARGETS paceline_remote paceline_ct LIBRARY DESTINATION lib)  # where paceline-rank looks for them
add_dependencies(installation paceline paceline-rank paceline_remote paceline_ct)
if(PACELINE_CUDA)
  install(TARGETS paceline_cuda LIBRARY DESTINATION lib)
  add_dependencies(installation paceline_cuda)
endif()
install(DIRECTORY ${CMAKE_SOURCE_DIR}/recipes DESTINATION share/paceline)

# A LibTorch that ./dev fetched goes along; one that was stated stays where it is.
cmake_path(IS_PREFIX PACELINE_DEPS_DIR "${PACELINE_TORCH_DIR}" NORMALIZE is_torch_fetched)
if(is_torch_fetched)
  install(DIRECTORY ${PACELINE_TORCH_DIR}/include DESTINATION lib/paceline/torch)
  set(PACELINE_INSTALLED_TORCH_DIR "\${PACKAGE_PREFIX_DIR}/lib/paceline/torch")
else()
  set(PACELINE_INSTALLED_TORCH_DIR "${PACELINE_TORCH_DIR}")
endif()

# The installed config reads the same layers.txt, so that the edges are stated once.
install(FILES ${CMAKE_SOURCE_DIR}/src/paceline/layers.txt ${CMAKE_SOURCE_DIR}/cmake/Externals.cmake
              ${CMAKE_SOURCE_DIR}/cmake/FindLibTorch.cmake
        DESTINATION ${package_dir})
configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/pacelineConfig.cmake.in ${CMAKE_BINARY_DIR}/pacelineConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/pacelineConfigVersion.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/pacelineConfig.cmake ${CMAKE_BINARY_DIR}/pacelineConfigVersion.cmake
        DESTINATION ${package_dir})
install(SCRIPT ${CMAKE_CURRENT_LIST_DIR}/RemoveStale.cmake)
