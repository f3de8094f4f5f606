# ina_pytest(<name> <file or folder> TIMEOUT <seconds>)
#
# Registers pytest on a file or folder as a ctest test. The programs are in the build folder, and the tests
# find them through INA_LAB, INA_PERF, INA_BRIDGE and INA_PLAN. Files that pytest writes stay in the build
# folder as well. Its output lists the tests that it skips, for tests/skips.py.
function(ina_pytest name path)
  cmake_parse_arguments(TEST "" "TIMEOUT" "" ${ARGN})
  add_test(NAME ${name}
    COMMAND ${Python3_EXECUTABLE} -B -m pytest -q -rs -p no:cacheprovider --tb=short
            --basetemp=${CMAKE_CURRENT_BINARY_DIR}/${name}.runs ${CMAKE_CURRENT_SOURCE_DIR}/${path})
  set(programs "")
  foreach(program lab perf bridge plan)
    string(TOUPPER INA_${program} variable)
    list(APPEND programs ${variable}=${CMAKE_BINARY_DIR}/ina-${program})
  endforeach()
  set_tests_properties(${name} PROPERTIES
    TIMEOUT ${TEST_TIMEOUT} ENVIRONMENT "${programs}")
endfunction()
