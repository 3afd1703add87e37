# What `find_package(paceline)` users get. install_manifest.txt lists the public headers; what is not
# there is not installed and may change at any time.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/install_manifest.txt public_headers REGEX "^[a-z]")
foreach(header IN LISTS public_headers)
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${CMAKE_SOURCE_DIR}/src/paceline/${header}
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/paceline/${folder})
endforeach()

set(libraries "")
get_property(modules GLOBAL PROPERTY PACELINE_MODULES)
foreach(module IN LISTS modules)
  if(NOT module MATCHES "^(app|cli|launcher)$")
    get_target_property(type paceline_${module} TYPE)
    if(type STREQUAL STATIC_LIBRARY)
      install(FILES $<TARGET_FILE:paceline_${module}> DESTINATION ${CMAKE_INSTALL_LIBDIR}/paceline)
      list(APPEND libraries ${module})
    endif()
  endif()
endforeach()
install(TARGETS paceline RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS paceline-rank RUNTIME DESTINATION libexec)
install(TARGETS paceline_remote LIBRARY DESTINATION lib)  # where paceline-rank looks for them
if(PACELINE_CUDA)
  install(TARGETS paceline_cuda LIBRARY DESTINATION lib)
endif()

# The installed config reads the same layers.txt, so that the edges are stated once.
install(FILES ${CMAKE_SOURCE_DIR}/src/paceline/layers.txt ${CMAKE_SOURCE_DIR}/cmake/Externals.cmake
              ${CMAKE_SOURCE_DIR}/cmake/FindLibTorch.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/paceline)
set(PACELINE_INSTALLED_MODULES ${libraries})
configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/pacelineConfig.cmake.in ${CMAKE_BINARY_DIR}/pacelineConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/paceline)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/pacelineConfigVersion.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/pacelineConfig.cmake ${CMAKE_BINARY_DIR}/pacelineConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/paceline)
