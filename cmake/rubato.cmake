# How targets are declared. Sources are found by name, so adding a file needs no edit here:
#
#   src/rubato/<folder>/*.cc         library rubato_<folder>, alias rubato::<folder>
#   src/rubato/<folder>/<room>/      the same, one subject of the folder
#   src/rubato/<folder>/*.proto      messages, compiled into rubato_<folder>
#   src/rubato/<folder>/torch/*.cc   library rubato_<folder>_torch, if libtorch is there
#   src/rubato/<folder>/testing/     what tests load or share; not part of any library
#   src/rubato/<folder>/*_test.cc    one executable <folder>_test, one ctest, label unit; those of
#                                    RUBATO_CORE are built by the target unit_tests, not by all
#   src/rubato/<folder>/*_fuzz.cc    one executable each, named as the file, label fuzz
#   src/rubato/<folder>/*_bench.cc   part of engine_bench, with bench/*.cc
#   tests/*_test.cc                  one executable scenario_test, one ctest, label scenario
#   templates/                       what `rubato policy new` writes; tested as new_policy_test
#
# Tests run in the repository root.

add_custom_target(unit_tests)
add_custom_target(core_tests)
add_custom_target(fuzzers)
add_custom_target(core_fuzzers)

set(RUBATO_TEST_TIMEOUT 300)
if(RUBATO_SANITIZE)
  set(RUBATO_TEST_TIMEOUT 900)
endif()

# Thousands of small worlds come and go in a test. A heap that is not given back after each of them,
# and that keeps more small blocks at hand, saves a sixth of the time.
set(RUBATO_HEAP_OF_TESTS "GLIBC_TUNABLES=glibc.malloc.tcache_count=2000")
string(APPEND RUBATO_HEAP_OF_TESTS ":glibc.malloc.trim_threshold=268435456")
string(APPEND RUBATO_HEAP_OF_TESTS ":glibc.malloc.mmap_threshold=268435456")
string(APPEND RUBATO_HEAP_OF_TESTS ":glibc.malloc.top_pad=16777216")

# rubato_library(<folder> [DEPS <folder>...] [LINK <target>...])
# DEPS are other folders, LINK third-party targets. A folder without sources is header-only.
function(rubato_library folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "DEPS;LINK")
  file(GLOB_RECURSE all CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/rubato/${folder}/*.cc")
  list(FILTER all EXCLUDE REGEX "/torch/")
  set(sources ${all})
  set(tests ${all})
  set(fuzzers ${all})
  list(FILTER sources EXCLUDE REGEX "(_test|_fuzz|_bench|/main)\\.cc$|/testing/")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER fuzzers INCLUDE REGEX "_fuzz\\.cc$")

  set(links ${arg_LINK})
  foreach(dep IN LISTS arg_DEPS)
    list(APPEND links rubato::${dep})
  endforeach()

  set(library rubato_${folder})
  if(sources)
    add_library(${library} STATIC ${sources})
    target_include_directories(${library} PUBLIC "${PROJECT_SOURCE_DIR}/src")
    target_link_libraries(${library} PUBLIC ${links} PRIVATE rubato_warnings)
    target_compile_definitions(
      ${library} PRIVATE $<$<IN_LIST:${folder},cli;http>:RUBATO_VERSION="${PROJECT_VERSION}">)
  else()
    add_library(${library} INTERFACE)
    target_include_directories(${library} INTERFACE "${PROJECT_SOURCE_DIR}/src")
    target_link_libraries(${library} INTERFACE ${links})
  endif()
  add_library(rubato::${folder} ALIAS ${library})

  if(tests AND RUBATO_TESTS)
    rubato_test(${folder}_test unit SOURCES ${tests} LINK ${library})
    add_dependencies(unit_tests ${folder}_test)
    if(folder IN_LIST RUBATO_CORE)
      add_dependencies(core_tests ${folder}_test)
      set_target_properties(${folder}_test PROPERTIES EXCLUDE_FROM_ALL ON)
      set_property(TEST ${folder}_test APPEND PROPERTY LABELS core)
      if(NOT RUBATO_SANITIZE)
        # Only `make unit` builds them so, whose users want to wait for compilers and not for tests.
        target_compile_options(${folder}_test PRIVATE -O2)
      endif()
      set_tests_properties(${folder}_test PROPERTIES ENVIRONMENT "${RUBATO_HEAP_OF_TESTS}")
    endif()
    if(${folder}_test IN_LIST RUBATO_LONG_TESTS AND RUBATO_SANITIZE)
      rubato_halve_test(${folder}_test)
    endif()
  endif()
  foreach(source IN LISTS fuzzers)
    rubato_fuzzer(${source} ${folder})
  endforeach()
endfunction()

# rubato_messages(<folder>): the protobuf messages of a folder. What protoc writes is not held to
# our warnings.
function(rubato_messages folder)
  file(GLOB messages CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/rubato/${folder}/*.proto")
  set(written "${PROJECT_BINARY_DIR}/messages")
  file(MAKE_DIRECTORY "${written}")
  set(sources)
  foreach(message IN LISTS messages)
    cmake_path(GET message STEM name)
    set(stem "${written}/rubato/${folder}/${name}.pb")
    add_custom_command(
      OUTPUT "${stem}.cc" "${stem}.h"
      COMMAND protobuf::protoc --cpp_out=${written} -I "${PROJECT_SOURCE_DIR}/src" "${message}"
      DEPENDS "${message}"
      COMMENT "Compiling the messages of ${folder}/${name}.proto")
    list(APPEND sources "${stem}.cc")
  endforeach()
  add_library(rubato_${folder}_messages STATIC ${sources})
  target_include_directories(rubato_${folder}_messages SYSTEM PUBLIC "${written}")
  target_link_libraries(rubato_${folder}_messages PUBLIC protobuf::libprotobuf)
  set_target_properties(rubato_${folder}_messages PROPERTIES UNITY_BUILD OFF)
  target_link_libraries(rubato_${folder} PUBLIC rubato_${folder}_messages)
endfunction()

# rubato_services(<folder> <user>): the remote calls declared in the messages of a folder, linked to
# their only user; workers need not load the library behind them.
function(rubato_services folder user)
  file(GLOB messages CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/rubato/${folder}/*.proto")
  set(written "${PROJECT_BINARY_DIR}/messages")
  set(sources)
  foreach(message IN LISTS messages)
    file(STRINGS "${message}" declared REGEX "^service ")
    if(declared)
      cmake_path(GET message STEM name)
      set(stem "${written}/rubato/${folder}/${name}.grpc.pb")
      add_custom_command(
        OUTPUT "${stem}.cc" "${stem}.h"
        COMMAND
          protobuf::protoc --grpc_out=${written}
          --plugin=protoc-gen-grpc=$<TARGET_FILE:gRPC::grpc_cpp_plugin> -I
          "${PROJECT_SOURCE_DIR}/src" "${message}"
        DEPENDS "${message}"
        COMMENT "Compiling the calls of ${folder}/${name}.proto")
      list(APPEND sources "${stem}.cc")
    endif()
  endforeach()
  add_library(rubato_${folder}_services STATIC ${sources})
  target_link_libraries(rubato_${folder}_services PUBLIC rubato_${folder}_messages gRPC::grpc++)
  target_link_libraries(rubato_${user} PUBLIC rubato_${folder}_services)
endfunction()

# rubato_torch_library(<folder>): the part of a folder that sees libtorch. Its tests are
# <folder>_torch_test; no header of ours includes libtorch.
function(rubato_torch_library folder)
  if(NOT Torch_FOUND OR NOT RUBATO_GLOO_INCLUDE OR NOT RUBATO_GLOO_LIBRARY)
    message(STATUS "libtorch or gloo not found: training programs in C++ cannot be built")
    return()
  endif()
  file(GLOB_RECURSE all CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/rubato/${folder}/torch/*.cc")
  set(sources ${all})
  set(tests ${all})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  if(NOT sources)
    return()
  endif()
  set(library rubato_${folder}_torch)
  add_library(${library} STATIC ${sources})
  target_include_directories(${library} SYSTEM PRIVATE ${TORCH_INCLUDE_DIRS}
                                                       "${RUBATO_GLOO_INCLUDE}")
  target_link_libraries(
    ${library} PUBLIC rubato::${folder} ${TORCH_LIBRARIES} "${RUBATO_GLOO_LIBRARY}"
               PRIVATE rubato_warnings)
  # libtorch's headers take most of a minute: two sources for two cores.
  set_target_properties(${library} PROPERTIES UNITY_BUILD_BATCH_SIZE 3)
  add_library(rubato::${folder}_torch ALIAS ${library})
  if(tests AND RUBATO_TESTS)
    rubato_test(${folder}_torch_test torch SOURCES ${tests} LINK ${library})
  endif()
endfunction()

# rubato_test(<name> <label> SOURCES <file>... LINK <target>...): a gtest executable and its ctest.
function(rubato_test name label)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "SOURCES;LINK")
  add_executable(${name} ${arg_SOURCES} "${PROJECT_SOURCE_DIR}/tools/test_main.cc")
  target_link_libraries(${name} PRIVATE ${arg_LINK} GTest::gmock GTest::gtest rapidcheck
                                        rubato_warnings)
  # Tests spend their time in the libraries: compiling them quickly matters more than their speed.
  # Not without any optimisation, though: their unoptimised copies of small inline functions would
  # be the ones that libraries call too, and twice the time would go there.
  target_compile_options(${name} PRIVATE -Og)
  if(RUBATO_SANITIZE)
    # Their own arithmetic is not what the undefined-behaviour sanitizer is after.
    target_compile_options(${name} PRIVATE -fno-sanitize=undefined)
  endif()
  add_test(NAME ${name} COMMAND ${name} --gtest_brief=1 WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT ${RUBATO_TEST_TIMEOUT})
endfunction()

# rubato_halve_test(<name>): two ctests with half of the cases each, for two cores. Call it when the
# test has its environment.
function(rubato_halve_test name)
  get_test_property(${name} LABELS labels)
  get_test_property(${name} ENVIRONMENT environment)
  if(NOT environment)
    set(environment "")
  endif()
  add_test(NAME ${name}_second COMMAND ${name} --gtest_brief=1
           WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set_tests_properties(
    ${name} PROPERTIES ENVIRONMENT "${environment};GTEST_TOTAL_SHARDS=2;GTEST_SHARD_INDEX=0")
  set_tests_properties(
    ${name}_second
    PROPERTIES LABELS "${labels}" TIMEOUT ${RUBATO_TEST_TIMEOUT} ENVIRONMENT
               "${environment};GTEST_TOTAL_SHARDS=2;GTEST_SHARD_INDEX=1")
endfunction()

# rubato_split_torch(<name>): the suites of a unit test that import torch, which takes seconds,
# become a ctest of their own with the label torch.
function(rubato_split_torch name)
  string(REGEX REPLACE "_test$" "_torch_test" torch ${name})
  set_tests_properties(${name} PROPERTIES ENVIRONMENT "GTEST_FILTER=-*Torch*.*")
  add_test(NAME ${torch} COMMAND ${name} --gtest_brief=1 WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set_tests_properties(${torch} PROPERTIES LABELS torch TIMEOUT ${RUBATO_TEST_TIMEOUT} ENVIRONMENT
                                           "GTEST_FILTER=*Torch*.*")
endfunction()

# rubato_long_tests_first(): gives RUBATO_LONG_TESTS, and second halves of them, their turn. ctest
# learns it by itself, but only from an earlier run in the same directory.
function(rubato_long_tests_first)
  list(LENGTH RUBATO_LONG_TESTS cost)
  foreach(name IN LISTS RUBATO_LONG_TESTS)
    foreach(test IN ITEMS ${name} ${name}_second)
      if(TEST ${test})
        set_tests_properties(${test} PROPERTIES COST ${cost})
      endif()
    endforeach()
    math(EXPR cost "${cost} - 1")
  endforeach()
endfunction()

# rubato_fuzzer(<source> <folder>): `trace/formats/philly_fuzz.cc` becomes philly_fuzz, whose
# corpus is tests/corpus/philly. Under ctest a bounded number of mutations of each corpus file is
# run: under the sanitizers for RUBATO_CORE, where its libraries are built anyway, as users'
# builds are for the rest, whose fuzzing under sanitizers is left to `make soak`.
function(rubato_fuzzer source folder)
  set(library rubato_${folder})
  cmake_path(GET source STEM name)
  string(REGEX REPLACE "_fuzz$" "" subject ${name})
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE ${library} rubato_warnings)
  if(RUBATO_LIBFUZZER)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  else()
    if(NOT TARGET rubato_fuzz_main)
      add_library(rubato_fuzz_main OBJECT EXCLUDE_FROM_ALL
                                          "${PROJECT_SOURCE_DIR}/tools/fuzz_main.cc")
      target_link_libraries(rubato_fuzz_main PRIVATE rubato_warnings)
      set_target_properties(rubato_fuzz_main PROPERTIES UNITY_BUILD OFF)
    endif()
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:rubato_fuzz_main>)
    if((RUBATO_FUZZ AND folder IN_LIST RUBATO_CORE) OR (NOT RUBATO_FUZZ AND NOT folder IN_LIST
                                                                            RUBATO_CORE))
      add_test(NAME ${name} COMMAND ${name} "${PROJECT_SOURCE_DIR}/tests/corpus/${subject}")
      set_tests_properties(${name} PROPERTIES LABELS fuzz TIMEOUT ${RUBATO_TEST_TIMEOUT})
    endif()
  endif()
  if(folder IN_LIST RUBATO_CORE AND NOT RUBATO_FUZZ)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
  if(folder IN_LIST RUBATO_CORE)
    add_dependencies(core_fuzzers ${name})
  endif()
  add_dependencies(fuzzers ${name})
endfunction()

# rubato_binary(<name> <source> LINK <target>...): an executable for users.
function(rubato_binary name source)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "LINK")
  file(GLOB found CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${source}")
  if(found)
    add_executable(${name} ${found})
    target_link_libraries(${name} PRIVATE ${arg_LINK} rubato_warnings)
  endif()
endfunction()

# rubato_programs(LINK <target>...): training programs that tests run, one per file of
# tests/programs.
function(rubato_programs)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "LINK")
  file(GLOB programs CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/programs/*.cc")
  foreach(program IN LISTS programs)
    cmake_path(GET program STEM name)
    add_executable(${name} ${program})
    target_link_libraries(${name} PRIVATE ${arg_LINK} rubato_warnings)
  endforeach()
endfunction()

# rubato_scenarios(LINK <target>...): the tests that cross folders. They find the command-line
# program in the environment variable RUBATO_BINARY, and training programs in RUBATO_PROGRAMS.
function(rubato_scenarios)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "LINK")
  file(GLOB tests CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/*_test.cc")
  if(tests AND RUBATO_TESTS)
    rubato_test(scenario_test scenario SOURCES ${tests} LINK ${arg_LINK})
    if(TARGET rubato)
      add_dependencies(scenario_test rubato counting_trainer script_leader)
      set_tests_properties(
        scenario_test
        PROPERTIES
          ENVIRONMENT
          "RUBATO_BINARY=$<TARGET_FILE:rubato>;RUBATO_PROGRAMS=$<TARGET_FILE_DIR:counting_trainer>")
    endif()
    rubato_halve_test(scenario_test)
  endif()
endfunction()

# rubato_embed_template(<folder>): what `rubato policy new` writes is the text of these files, which
# become part of the program.
function(rubato_embed_template folder)
  set(dir "${PROJECT_SOURCE_DIR}/templates/rubato/policy/first_come")
  set(files "${dir}/first_come.h" "${dir}/first_come.cc" "${dir}/first_come_test.cc")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${files})
  file(READ "${dir}/first_come.h" TEMPLATE_HEADER)
  file(READ "${dir}/first_come.cc" TEMPLATE_SOURCE)
  file(READ "${dir}/first_come_test.cc" TEMPLATE_TEST)
  set(embedded "${PROJECT_BINARY_DIR}/policy_template_text.cc")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/policy_template_text.cc.in" "${embedded}" @ONLY)
  target_sources(rubato_${folder} PRIVATE "${embedded}")
endfunction()

# rubato_embed_zygote(<folder>): the program of warm interpreters becomes part of ours.
function(rubato_embed_zygote folder)
  set(file "${PROJECT_SOURCE_DIR}/src/rubato/${folder}/warm/zygote_server.py")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
  file(READ "${file}" ZYGOTE_TEXT)
  set(embedded "${PROJECT_BINARY_DIR}/zygote_text.cc")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/zygote_text.cc.in" "${embedded}" @ONLY)
  target_sources(rubato_${folder} PRIVATE "${embedded}")
endfunction()

# rubato_template_test(): writes a policy with `rubato policy new`, compiles it with a registry that
# has its line, and runs its test: what users get is what was tested. Likewise the example of
# docs/new-policy.md.
function(rubato_template_test)
  if(NOT RUBATO_TESTS OR NOT TARGET rubato)
    return()
  endif()
  set(policies "${PROJECT_SOURCE_DIR}/src/rubato/policy")
  set(root "${PROJECT_BINARY_DIR}/new_policy")
  set(written "${root}/rubato/policy")
  set(new "${written}/new_and_untouched/new_and_untouched")
  add_custom_command(
    OUTPUT "${new}.cc" "${new}_test.cc" "${new}.h" "${written}/registered.inc"
    COMMAND ${CMAKE_COMMAND} -E rm -rf "${root}"
    COMMAND ${CMAKE_COMMAND} -E make_directory "${written}"
    COMMAND ${CMAKE_COMMAND} -E copy "${policies}/registered.inc" "${written}"
    COMMAND rubato policy new new-and-untouched --dir "${written}" > "${root}/log"
    DEPENDS rubato "${policies}/registered.inc"
    COMMENT "Writing a policy from the template")
  # The test brings its own registry, so the library's must be a member that nothing else needs.
  set_source_files_properties("${policies}/registry.cc" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set(example "${PROJECT_SOURCE_DIR}/templates/rubato/policy/smallest_first/smallest_first")
  rubato_test(
    new_policy_test scenario
    SOURCES "${new}.cc" "${new}_test.cc" "${example}.cc" "${example}_test.cc"
            "${policies}/testing/policy_scene_test.cc" "${policies}/registry.cc"
            "${policies}/registry_test.cc"
    LINK rubato::policy)
  target_include_directories(new_policy_test BEFORE PRIVATE "${root}"
                             "${PROJECT_SOURCE_DIR}/templates")
endfunction()

# rubato_benchmarks(LINK <target>...): the executable engine_bench.
function(rubato_benchmarks)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "LINK")
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/*.cc")
  file(GLOB_RECURSE beside CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/rubato/*_bench.cc")
  list(APPEND sources ${beside})
  if(sources)
    find_package(benchmark REQUIRED)
    add_executable(engine_bench ${sources})
    target_link_libraries(engine_bench PRIVATE ${arg_LINK} benchmark::benchmark
                                               benchmark::benchmark_main rubato_warnings)
    if(NOT RUBATO_BENCH)
      set_target_properties(engine_bench PROPERTIES EXCLUDE_FROM_ALL ON)
    endif()
  endif()
endfunction()

# rubato_checks(): the rules about the text of the repository, label check.
function(rubato_checks)
  set(tools "${PROJECT_SOURCE_DIR}/tools")
  add_test(NAME check_layers COMMAND Python3::Interpreter -B "${tools}/check_layers.py"
                                     "${PROJECT_SOURCE_DIR}")
  add_test(NAME check_tidy COMMAND Python3::Interpreter -B "${tools}/check_tidy.py"
                                   "${PROJECT_SOURCE_DIR}")
  add_test(NAME check_tools COMMAND Python3::Interpreter -B -m unittest discover -s "${tools}" -p
                                    "test_*.py")
  set(checks check_layers check_tidy check_tools)
  # One process each: the experiments' modules have the same names.
  file(GLOB tests CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/experiments/*/test_*.py")
  foreach(test IN LISTS tests)
    get_filename_component(folder "${test}" DIRECTORY)
    get_filename_component(name "${folder}" NAME)
    add_test(NAME check_experiments_${name} COMMAND Python3::Interpreter -B -m unittest discover -s
                                                    "${folder}" -p "test_*.py")
    list(APPEND checks check_experiments_${name})
  endforeach()
  set_tests_properties(${checks} PROPERTIES LABELS check TIMEOUT 60)
endfunction()

# rubato_example(<name> <source> [LINK <target>...]): an example in C++; needs libtorch.
function(rubato_example name source)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "LINK")
  if(NOT TARGET rubato_runtime_torch)
    return()
  endif()
  add_executable(${name} "${PROJECT_SOURCE_DIR}/examples/${source}")
  target_include_directories(${name} SYSTEM PRIVATE ${TORCH_INCLUDE_DIRS})
  target_link_libraries(${name} PRIVATE rubato::runtime_torch ${arg_LINK})
endfunction()
