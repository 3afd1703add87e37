# libpaceline_remote.so: all that needs Arrow and libcurl, from data/remote/plugin/. The program loads it with
# dlopen at the first remote path or Parquet file. Arrow's headers and libraries come from the wheel that
# deps/arrow_wheel.txt names; PACELINE_ARROW_DIR uses an unpacked one that is elsewhere.
set(PACELINE_ARROW_DIR "$ENV{PACELINE_ARROW_DIR}" CACHE PATH "The folder pyarrow of an unpacked pyarrow wheel")
if(NOT PACELINE_ARROW_DIR)
  set(PACELINE_ARROW_DIR ${CMAKE_SOURCE_DIR}/.deps/pyarrow)
endif()
file(GLOB arrow_libraries ${PACELINE_ARROW_DIR}/libarrow.so.* ${PACELINE_ARROW_DIR}/libparquet.so.*)
list(LENGTH arrow_libraries num_arrow_libraries)
if(NOT num_arrow_libraries EQUAL 2)
  message(FATAL_ERROR "Arrow is not in ${PACELINE_ARROW_DIR}: run ./dev build, which fetches the wheel of "
                      "deps/arrow_wheel.txt, or set PACELINE_ARROW_DIR to the folder pyarrow of an unpacked one")
endif()

file(GLOB remote_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/paceline/data/remote/plugin/*.cpp)
add_library(paceline_remote SHARED ${remote_sources})
set_target_properties(paceline_remote PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib CXX_VISIBILITY_PRESET hidden)
paceline_runtime_folder(paceline_remote ${PACELINE_ARROW_DIR} pyarrow/libarrow.so.* pyarrow/libparquet.so.*)
target_include_directories(paceline_remote SYSTEM PRIVATE ${PACELINE_ARROW_DIR}/include)
# Its own copy of the module's code, none of it seen from outside.
target_link_libraries(paceline_remote PRIVATE paceline_data ${arrow_libraries} curl)
target_link_options(paceline_remote PRIVATE -Wl,--exclude-libs,ALL)
