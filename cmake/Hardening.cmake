# What makes a fault in our own code hard to turn into more than a crash. Of all that we build; the cost is a
# draw (docs/benchmarks.md), and tests/process/binaries_test.py looks at the binaries.
include(CheckCXXCompilerFlag)
include(CheckPIESupported)
check_pie_supported(LANGUAGES CXX)
add_link_options(-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack -Wl,-z,separate-code)

set(hardening -fstack-protector-strong -fstack-clash-protection)
check_cxx_compiler_flag(-fcf-protection=full PACELINE_HAS_CET)
if(PACELINE_HAS_CET)
  list(APPEND hardening -fcf-protection=full)
endif()
# The C library's checks want an optimiser, and sanitizers bring their own.
if(NOT PACELINE_SANITIZE AND NOT CMAKE_CXX_FLAGS_RELEASE MATCHES "-O0")
  list(APPEND hardening -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
endif()
target_compile_options(paceline_compile_options INTERFACE ${hardening})
