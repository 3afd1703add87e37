# paceline_compile_options: the flags of every paceline target.
add_library(paceline_compile_options INTERFACE)
target_compile_options(paceline_compile_options INTERFACE
  -march=x86-64-v3 -ffp-contract=off
  -fno-math-errno -fno-trapping-math  # nobody reads errno of roots or traps: loops with them are vectorised
  -fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=  # __FILE__ is the same in every clone: to readers, and to ccache
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual
  -Wold-style-cast -Wno-sign-conversion
  $<$<BOOL:${PACELINE_WERROR}>:-Werror>)
if(PACELINE_SANITIZE)
  # Without vptr, for which the compiler would emit type information of LibTorch's classes again.
  target_compile_options(paceline_compile_options INTERFACE -fsanitize=${PACELINE_SANITIZE}
                         -fno-omit-frame-pointer -fno-sanitize-recover=all -fno-sanitize=vptr)
  target_link_options(paceline_compile_options INTERFACE -fsanitize=${PACELINE_SANITIZE})
endif()
target_include_directories(paceline_compile_options INTERFACE ${CMAKE_SOURCE_DIR}/src)
