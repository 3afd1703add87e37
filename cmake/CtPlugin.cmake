# libpaceline_ct.so: what reads scans by libraries of medical imaging, from data/ct/plugin/. The program loads it
# with dlopen when a scan is read, so that it needs none of them otherwise.
find_path(PACELINE_NIFTI_INCLUDE_DIR nifti2_io.h PATH_SUFFIXES nifti)
find_library(PACELINE_NIFTI_LIBRARY nifti2)
# GDCM's own CMake files also name its bindings to other libraries, which are other packages.
find_path(PACELINE_GDCM_INCLUDE_DIR gdcmImage.h PATH_SUFFIXES gdcm-3.0)
find_library(PACELINE_GDCM_MSFF_LIBRARY gdcmMSFF)
find_library(PACELINE_GDCM_DSED_LIBRARY gdcmDSED)
find_library(PACELINE_GDCM_COMMON_LIBRARY gdcmCommon)
foreach(part IN ITEMS NIFTI_INCLUDE_DIR NIFTI_LIBRARY GDCM_INCLUDE_DIR GDCM_MSFF_LIBRARY GDCM_DSED_LIBRARY
        GDCM_COMMON_LIBRARY)
  mark_as_advanced(PACELINE_${part})
  if(NOT PACELINE_${part})
    message(FATAL_ERROR "libnifti2 or GDCM is not here: run ./dev build, which installs the packages of deps/debian.txt")
  endif()
endforeach()

file(GLOB ct_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/paceline/data/ct/plugin/*.cpp)
add_library(paceline_ct SHARED ${ct_sources})
set_target_properties(paceline_ct PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib CXX_VISIBILITY_PRESET hidden)
target_include_directories(paceline_ct SYSTEM PRIVATE ${PACELINE_NIFTI_INCLUDE_DIR} ${PACELINE_GDCM_INCLUDE_DIR})
# Its own copy of the module's code, none of it seen from outside.
target_link_libraries(paceline_ct PRIVATE paceline_data ${PACELINE_NIFTI_LIBRARY}
  ${PACELINE_GDCM_MSFF_LIBRARY} ${PACELINE_GDCM_DSED_LIBRARY} ${PACELINE_GDCM_COMMON_LIBRARY})
target_link_options(paceline_ct PRIVATE -Wl,--exclude-libs,ALL)
