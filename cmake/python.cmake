# rubato_python(): python/, the package `rubato`, put together in build/python so that
# PYTHONPATH=build/python finds it. Built for the interpreter that has torch: another python3 that
# comes first in PATH would not see Debian's modules.

# rubato_find_python(): sets RUBATO_PYTHON.
function(rubato_find_python)
  if(NOT RUBATO_PYTHON)
    find_program(from_path python3 NO_CACHE)
    set(found "")
    foreach(candidate IN ITEMS /usr/bin/python3 "${from_path}")
      if(EXISTS "${candidate}" AND NOT found)
        execute_process(COMMAND "${candidate}" -c "import torch" RESULT_VARIABLE failed
                        OUTPUT_QUIET ERROR_QUIET)
        if(NOT failed)
          set(found "${candidate}")
        endif()
      endif()
    endforeach()
    if(NOT found)
      set(found "${from_path}")
    endif()
    set(RUBATO_PYTHON "${found}" CACHE FILEPATH "The interpreter that training scripts run in")
  endif()
endfunction()

# What is linked into a shared object must not care where it lies.
function(rubato_position_independent)
  foreach(folder IN ITEMS base core wire runtime)
    foreach(library IN ITEMS rubato_${folder} rubato_${folder}_messages)
      if(TARGET ${library})
        set_target_properties(${library} PROPERTIES POSITION_INDEPENDENT_CODE ON)
      endif()
    endforeach()
  endforeach()
endfunction()

function(rubato_python)
  rubato_find_python()
  set(Python_EXECUTABLE "${RUBATO_PYTHON}")
  find_package(Python QUIET COMPONENTS Interpreter Development.Module)
  find_package(pybind11 QUIET)
  if(NOT Python_Development.Module_FOUND OR NOT pybind11_FOUND)
    message(STATUS "python3-dev or pybind11-dev not found: no Python package is built")
    return()
  endif()
  rubato_position_independent()
  set(source "${PROJECT_SOURCE_DIR}/python")
  set(target "${PROJECT_BINARY_DIR}/python")
  file(GLOB modules CONFIGURE_DEPENDS "${source}/core/*.cc")
  Python_add_library(rubato_core_module MODULE WITH_SOABI ${modules})
  target_link_libraries(rubato_core_module PRIVATE pybind11::headers rubato::runtime
                                                   rubato_warnings)
  set_target_properties(rubato_core_module PROPERTIES OUTPUT_NAME _core CXX_VISIBILITY_PRESET hidden
                                                      LIBRARY_OUTPUT_DIRECTORY "${target}/rubato")
  file(GLOB_RECURSE scripts CONFIGURE_DEPENDS "${source}/rubato/*.py")
  add_custom_command(
    OUTPUT "${target}/stamp"
    COMMAND ${CMAKE_COMMAND} -E copy_directory "${source}/rubato" "${target}/rubato"
    COMMAND ${CMAKE_COMMAND} -E touch "${target}/stamp"
    DEPENDS ${scripts}
    COMMENT "Putting the Python package together")
  add_custom_target(rubato_python ALL DEPENDS rubato_core_module "${target}/stamp")
  rubato_python_tests()
  rubato_script_tests()
endfunction()

# rubato_python_tests(): one ctest for each file of python/tests, label torch.
function(rubato_python_tests)
  if(NOT RUBATO_TESTS)
    return()
  endif()
  file(GLOB tests CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/python/tests/test_*.py")
  foreach(test IN LISTS tests)
    cmake_path(GET test STEM name)
    string(REGEX REPLACE "^test_" "python_" name ${name})
    add_test(NAME ${name} COMMAND "${RUBATO_PYTHON}" -B "${test}"
             WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
    set(environment "PYTHONPATH=${PROJECT_BINARY_DIR}/python")
    if(TARGET rubato)
      list(APPEND environment "RUBATO_BINARY=$<TARGET_FILE:rubato>")
    endif()
    if(TARGET pretend_cuda)
      list(APPEND environment "RUBATO_PRETEND_CUDA=$<TARGET_FILE:pretend_cuda>")
    endif()
    set_tests_properties(${name} PROPERTIES LABELS torch TIMEOUT ${RUBATO_TEST_TIMEOUT}
                                            ENVIRONMENT "${environment}")
  endforeach()
endfunction()

# rubato_script_tests(): the quick part of tests/scripts, each script alone and elastically, and the
# tests of what compares the two.
function(rubato_script_tests)
  if(NOT RUBATO_TESTS)
    return()
  endif()
  set(scripts "${PROJECT_SOURCE_DIR}/tests/scripts")
  add_test(NAME scripts_compare COMMAND "${RUBATO_PYTHON}" -B "${scripts}/test_compare.py")
  add_test(NAME scripts_quick COMMAND "${RUBATO_PYTHON}" -B "${scripts}/run.py" --quick
                                      --package "${PROJECT_BINARY_DIR}/python")
  set_tests_properties(scripts_compare scripts_quick PROPERTIES LABELS torch
                                                                TIMEOUT ${RUBATO_TEST_TIMEOUT})
endfunction()
