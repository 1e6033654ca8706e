# rubato_embed_web(<folder> <folder>): the dashboard of web/ becomes part of the first folder, the
# page of reports part of the second, which the first depends on. Their packages are installed only
# when the lock file has changed.
function(rubato_embed_web dashboard report)
  if(NOT RUBATO_WEB)
    rubato_embed_nothing(${dashboard} dashboard)
    rubato_embed_nothing(${report} report)
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
    OUTPUT "${out}/dashboard_text.cc" "${out}/report_text.cc" "${out}/sizes.json"
    COMMAND "${RUBATO_NODE}" "${web}/build.mjs" --out "${out}"
    DEPENDS ${sources} "${web}/build.mjs" "${web}/document.mjs" "${installed}"
    COMMENT "Bundling the dashboard"
    VERBATIM)
  target_sources(rubato_${dashboard} PRIVATE "${out}/dashboard_text.cc")
  target_sources(rubato_${report} PRIVATE "${out}/report_text.cc")
  set_source_files_properties("${out}/dashboard_text.cc" "${out}/report_text.cc"
                              PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  rubato_web_tests("${web}" "${out}")
endfunction()

# The same functions for builds without web/, which have nothing to give.
function(rubato_embed_nothing folder name)
  set(empty "${PROJECT_BINARY_DIR}/web/${name}_text.cc")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/no_${name}.cc.in" "${empty}" COPYONLY)
  target_sources(rubato_${folder} PRIVATE "${empty}")
endfunction()

# Types and pure functions, the size of the bundles, and a browser: at a real `rubato up`, and with
# reports that a real `rubato sim` wrote.
function(rubato_web_tests web out)
  if(NOT RUBATO_TESTS OR RUBATO_SANITIZE)
    return()
  endif()
  add_test(NAME web_types COMMAND "${RUBATO_NODE}" "${web}/node_modules/typescript/bin/tsc"
                                  --noEmit -p "${web}")
  add_test(NAME web_unit COMMAND "${RUBATO_NODE}" "${web}/tests/run_unit.mjs" "${out}")
  add_test(NAME web_browser COMMAND "${RUBATO_NODE}" --test "${web}/tests/browser.test.mjs")
  add_test(NAME web_scale COMMAND "${RUBATO_NODE}" --test "${web}/tests/scale.test.mjs")
  add_test(NAME web_metrics COMMAND "${RUBATO_NODE}" --test "${web}/tests/metrics.test.mjs")
  add_test(NAME web_report COMMAND "${RUBATO_NODE}" --test "${web}/tests/report.test.mjs")
  set_tests_properties(web_types PROPERTIES LABELS "check;web" TIMEOUT 120)
  set_tests_properties(web_unit PROPERTIES LABELS "unit;web" TIMEOUT 120)
  set_tests_properties(
    web_browser web_scale web_metrics web_report
    PROPERTIES LABELS "scenario;web" TIMEOUT ${RUBATO_TEST_TIMEOUT} ENVIRONMENT
               "RUBATO_BINARY=${PROJECT_BINARY_DIR}/rubato")
endfunction()
