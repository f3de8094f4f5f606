# SPDX-License-Identifier: Apache-2.0
#
# The Verilated RTL for ina-bridge: the library ina_rtl.
find_package(verilator REQUIRED HINTS $ENV{VERILATOR_ROOT} /usr/share/verilator)

# The RTL in the sizes that rtl_aggregator.cpp chooses from, compiled for the highest speed.
# Clang vectorises the work that the lanes of a beat share; g++ 12 does not.
# A CMake project has a single C++ compiler, so a launcher runs clang for this target alone.
# The programs run on the machine that builds them and are not installed, so the code is for its
# processor (-march=native) and uses its full vector width.
# Verilator keeps each always block whole (-fno-split), so it tests a block's condition only once.
# It cuts functions to a size for which the compilers still keep values in registers.
add_library(ina_rtl STATIC)
set_target_properties(ina_rtl PROPERTIES SYSTEM ON)
set(rtl_unsanitized "")
if(INA_SANITIZE)
  set(rtl_unsanitized -fno-sanitize=all) # this project does not maintain Verilator's C++
endif()
set(rtl_speed -O2 -g0 ${rtl_unsanitized})
if(CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
  list(APPEND rtl_speed -march=native -mprefer-vector-width=512)
endif()
set(rtl_compiler ${CMAKE_CXX_COMPILER})
find_program(INA_CLANG_CXX NAMES clang++ clang++-14)
if(INA_CLANG_CXX AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  set(rtl_compiler ${INA_CLANG_CXX})
  set_target_properties(ina_rtl PROPERTIES
    CXX_COMPILER_LAUNCHER "${CMAKE_CURRENT_SOURCE_DIR}/aggregator/instead-of;${INA_CLANG_CXX}")
  target_link_libraries(ina_rtl PUBLIC atomic)
  # The linker merges functions that differ only in their names: see shared_code.vlt.
  find_program(INA_LLD NAMES ld.lld)
  if(INA_LLD)
    target_compile_options(ina_rtl PRIVATE -ffunction-sections)
    target_link_options(ina_rtl PUBLIC -fuse-ld=lld -Wl,--icf=safe)
  endif()
endif()
string(JOIN " " rtl_flags ${rtl_speed})
message(STATUS "The Verilated RTL is compiled by ${rtl_compiler} ${rtl_flags}")
set(rtl_sources ${INA_RTL_PACKAGES} ${INA_RTL_DIR}/ina_top.sv
  ${CMAKE_CURRENT_SOURCE_DIR}/aggregator/ina_bridge_top.sv)
if(INA_RTL_NATIVE_DEFINE)
  target_sources(ina_rtl PRIVATE ${INA_RTL_NATIVE_SOURCE})
  set_source_files_properties(${INA_RTL_NATIVE_SOURCE} PROPERTIES COMPILE_OPTIONS "-O2;-mpclmul")
  set(native +define+${INA_RTL_NATIVE_DEFINE})
endif()
# A precompiled header makes a file compile in 0.25 s rather than 1 s: most of Verilator's 200 or so
# files are short, and each includes this header. Files that are compiled without optimization below
# still use the same flags for the header.
target_compile_options(ina_rtl PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${rtl_speed}>")
target_precompile_headers(ina_rtl PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${VERILATOR_ROOT}/include/verilated.h>")
file(GLOB verilated_sources ${VERILATOR_ROOT}/include/verilated*.cpp)
set_source_files_properties(${verilated_sources} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
foreach(ports IN ITEMS 2 4 8 16)
  verilate(ina_rtl
    SOURCES ${rtl_sources} ${CMAKE_CURRENT_SOURCE_DIR}/aggregator/shared_code.vlt
    TOP_MODULE ina_bridge_top
    PREFIX Vina_top_${ports}
    VERILATOR_ARGS ${INA_VERILATOR_ARGS} -GPORT_COUNT=${ports} -GJOB_COUNT=16 -GSLOT_COUNT=128
                   -GMEMORY=512 -GGRAIN=8 -O3 --x-assign fast --x-initial fast --noassert -fno-split -fno-table
                   --output-split-cfuncs 1500 ${native}
    OPT_FAST ${rtl_speed}
    OPT_SLOW -O1 -g0 ${rtl_unsanitized}
    OPT_GLOBAL -O2 -g0 ${rtl_unsanitized})
endforeach()
