# rubato_embed_dashboard(<folder>): the dashboard of web/ becomes part of the program. Its packages
# are installed only when the lock file has changed.
function(rubato_embed_dashboard folder)
  if(NOT RUBATO_WEB)
    set(empty "${PROJECT_BINARY_DIR}/web/dashboard_text.cc")
    configure_file("${PROJECT_SOURCE_DIR}/cmake/no_dashboard.cc.in" "${empty}" COPYONLY)
    target_sources(rubato_${folder} PRIVATE "${empty}")
    return()
  endif()
  find_program(RUBATO_NODE NAMES node nodejs)
  find_program(RUBATO_NPM NAMES npm)
  if(NOT RUBATO_NODE OR NOT RUBATO_NPM)
    message(FATAL_ERROR "node and npm, which bundle the dashboard, are not there: run "
                        "tools/deps.sh, or build without the dashboard by -DRUBATO_WEB=OFF")
  endif()
  set(web "${PROJECT_SOURCE_DIR}/web")
  set(out "${PROJECT_BINARY_DIR}/web")
  set(installed "${web}/node_modules/.package-lock.json")
  add_custom_command(
    OUTPUT "${installed}"
    COMMAND ${CMAKE_COMMAND} -DNPM=${RUBATO_NPM} -DWEB=${web} -P
            "${PROJECT_SOURCE_DIR}/cmake/npm_ci.cmake"
    DEPENDS "${web}/package-lock.json" "${web}/package.json"
    COMMENT "Installing the packages of the dashboard"
    VERBATIM)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${web}/src/*")
  add_custom_command(
    OUTPUT "${out}/dashboard_text.cc" "${out}/sizes.json"
    COMMAND "${RUBATO_NODE}" "${web}/build.mjs" --out "${out}"
    DEPENDS ${sources} "${web}/build.mjs" "${installed}"
    COMMENT "Bundling the dashboard"
    VERBATIM)
  target_sources(rubato_${folder} PRIVATE "${out}/dashboard_text.cc")
  set_source_files_properties("${out}/dashboard_text.cc" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  rubato_web_tests("${web}" "${out}")
endfunction()

# Types and pure functions, the size of the bundle, and a browser at a real `rubato up`.
function(rubato_web_tests web out)
  if(NOT RUBATO_TESTS OR RUBATO_SANITIZE)
    return()
  endif()
  add_test(NAME web_types COMMAND "${RUBATO_NODE}" "${web}/node_modules/typescript/bin/tsc"
                                  --noEmit -p "${web}")
  add_test(NAME web_unit COMMAND "${RUBATO_NODE}" "${web}/tests/run_unit.mjs" "${out}")
  add_test(NAME web_browser COMMAND "${RUBATO_NODE}" --test "${web}/tests/browser.test.mjs")
  set_tests_properties(web_types web_unit PROPERTIES LABELS "unit;web" TIMEOUT 120)
  set_tests_properties(
    web_browser PROPERTIES LABELS "scenario;web" TIMEOUT ${RUBATO_TEST_TIMEOUT} ENVIRONMENT
                           "RUBATO_BINARY=${PROJECT_BINARY_DIR}/rubato")
endfunction()
