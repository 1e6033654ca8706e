# rubato_live_bench(): bench/live/, the load that `make bench-live` puts on a platform.
function(rubato_live_bench)
  set(dir "${PROJECT_SOURCE_DIR}/bench/live")
  add_executable(
    live_load EXCLUDE_FROM_ALL
    "${dir}/live_load.cc" "${dir}/emulated_agent.cc" "${dir}/rest_load.cc"
    "${PROJECT_SOURCE_DIR}/src/rubato/http/client.cc")
  set_target_properties(live_load PROPERTIES UNITY_BUILD OFF)
  target_compile_definitions(live_load PRIVATE RUBATO_VERSION="bench")
  target_include_directories(live_load PRIVATE "${dir}")
  target_link_libraries(live_load PRIVATE rubato::live nlohmann_json::nlohmann_json CLI11::CLI11
                                          rubato_warnings)
endfunction()
