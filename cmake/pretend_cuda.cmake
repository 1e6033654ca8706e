# rubato_pretend_cuda(): the pretended CUDA device that Python tests load before torch. It is made
# for torch 1.13 without CUDA and built only beside that. No product contains it.
function(rubato_pretend_cuda)
  if(NOT RUBATO_TESTS OR RUBATO_SANITIZE OR NOT Torch_FOUND)
    return()
  endif()
  if(NOT Torch_VERSION VERSION_GREATER_EQUAL 1.13 OR NOT Torch_VERSION VERSION_LESS 1.14
     OR TARGET torch_cuda)
    message(STATUS "torch is not 1.13 without CUDA: tests have no pretended device")
    return()
  endif()
  set(folder "${PROJECT_SOURCE_DIR}/src/rubato/runtime/testing/pretend_cuda")
  file(GLOB sources CONFIGURE_DEPENDS "${folder}/*.cc")
  add_library(pretend_cuda SHARED ${sources} "${PROJECT_SOURCE_DIR}/src/rubato/base/check.cc")
  target_include_directories(pretend_cuda PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_include_directories(pretend_cuda SYSTEM PRIVATE ${TORCH_INCLUDE_DIRS})
  target_link_libraries(pretend_cuda PRIVATE torch_cpu c10 Threads::Threads rubato_warnings)
  # libtorch's headers take most of the time: few of them, and for all sources at once.
  target_compile_definitions(pretend_cuda PRIVATE AT_PER_OPERATOR_HEADERS)
  set_target_properties(pretend_cuda PROPERTIES UNITY_BUILD_BATCH_SIZE 0)
endfunction()
