# libpaceline_ct.so: what reads scans by libraries of medical imaging, from data/ct/plugin/. The program loads it
# with dlopen when a scan is read, so that it needs none of them otherwise.
find_path(PACELINE_NIFTI_INCLUDE_DIR nifti2_io.h PATH_SUFFIXES nifti)
find_library(PACELINE_NIFTI_LIBRARY nifti2)
mark_as_advanced(PACELINE_NIFTI_INCLUDE_DIR PACELINE_NIFTI_LIBRARY)
if(NOT PACELINE_NIFTI_INCLUDE_DIR OR NOT PACELINE_NIFTI_LIBRARY)
  message(FATAL_ERROR "libnifti2 is not here: run ./dev build, which installs the packages of deps/debian.txt")
endif()

file(GLOB ct_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/paceline/data/ct/plugin/*.cpp)
add_library(paceline_ct SHARED ${ct_sources})
set_target_properties(paceline_ct PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib CXX_VISIBILITY_PRESET hidden)
target_include_directories(paceline_ct SYSTEM PRIVATE ${PACELINE_NIFTI_INCLUDE_DIR})
# Its own copy of the module's code, none of it seen from outside.
target_link_libraries(paceline_ct PRIVATE paceline_data ${PACELINE_NIFTI_LIBRARY})
target_link_options(paceline_ct PRIVATE -Wl,--exclude-libs,ALL)
