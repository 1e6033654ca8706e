# rubato_fake_nccl(): the stand-in for NCCL that runtime_test loads. No product contains it.
function(rubato_fake_nccl)
  if(NOT TARGET runtime_test)
    return()
  endif()
  add_library(fake_nccl SHARED "${PROJECT_SOURCE_DIR}/src/rubato/runtime/testing/fake_nccl.cc")
  target_include_directories(fake_nccl PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(fake_nccl PRIVATE Threads::Threads rubato_warnings)
  # Its one source would be compiled as part of another, and then warns of its own types.
  set_target_properties(fake_nccl PROPERTIES UNITY_BUILD OFF)
  add_dependencies(runtime_test fake_nccl)
  target_compile_definitions(runtime_test PRIVATE RUBATO_FAKE_NCCL="$<TARGET_FILE:fake_nccl>")
endfunction()
