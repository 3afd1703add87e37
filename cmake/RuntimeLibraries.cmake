# Where our binaries look for the libraries that no package of the system brings.
#
# CMake would write one run path for the build tree and another when it installs, and end the first with an
# empty entry, which to the loader is the working directory. So both are the same: a folder that was stated
# stands in it as it is. What ./dev fetched into .deps/ is found in lib/paceline/, from $ORIGIN; that is a
# link to .deps/ in the build tree and a copy of what is needed in an installation.
set(PACELINE_DEPS_DIR ${CMAKE_SOURCE_DIR}/.deps)

# paceline_runtime_folder(TARGET FOLDER PATTERN...): TARGET, which lies in libexec/ or lib/, loads libraries
# from FOLDER. The PATTERNs are those below .deps/ that an installation needs.
function(paceline_runtime_folder target folder)
  set_property(TARGET ${target} PROPERTY BUILD_WITH_INSTALL_RPATH ON)
  cmake_path(IS_PREFIX PACELINE_DEPS_DIR "${folder}" NORMALIZE is_fetched)
  if(NOT is_fetched)
    set_property(TARGET ${target} APPEND PROPERTY INSTALL_RPATH ${folder})
    return()
  endif()
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
  file(CREATE_LINK ${PACELINE_DEPS_DIR} ${CMAKE_BINARY_DIR}/lib/paceline SYMBOLIC)
  cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${PACELINE_DEPS_DIR} OUTPUT_VARIABLE inner)
  set_property(TARGET ${target} APPEND PROPERTY INSTALL_RPATH "$ORIGIN/../lib/paceline/${inner}")
  foreach(pattern IN LISTS ARGN)
    file(GLOB_RECURSE files RELATIVE ${PACELINE_DEPS_DIR} ${PACELINE_DEPS_DIR}/${pattern})
    foreach(file IN LISTS files)
      cmake_path(GET file PARENT_PATH parent)
      install(PROGRAMS ${PACELINE_DEPS_DIR}/${file} DESTINATION lib/paceline/${parent})
    endforeach()
  endforeach()
endfunction()
