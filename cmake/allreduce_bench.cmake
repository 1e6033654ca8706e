# rubato_allreduce_bench(): bench/runtime/, the sums over processes that `make bench-runtime`
# measures. Peers that are not installed are left out.
function(rubato_allreduce_bench)
  set(dir "${PROJECT_SOURCE_DIR}/bench/runtime")
  add_executable(allreduce_bench EXCLUDE_FROM_ALL "${dir}/allreduce_bench.cc"
                                                  "${dir}/allreduce_worker.cc"
                                                  "${dir}/own_contender.cc")
  target_include_directories(allreduce_bench PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(
    allreduce_bench PRIVATE rubato::runtime nlohmann_json::nlohmann_json CLI11::CLI11
                            rubato_warnings)

  if(TARGET rubato_runtime_torch AND RUBATO_GLOO_INCLUDE)
    target_sources(allreduce_bench PRIVATE "${dir}/gloo_contender.cc" "${dir}/tcp_contender.cc")
    target_include_directories(allreduce_bench SYSTEM PRIVATE ${TORCH_INCLUDE_DIRS}
                                                              "${RUBATO_GLOO_INCLUDE}")
    target_link_libraries(allreduce_bench PRIVATE rubato::runtime_torch ${TORCH_LIBRARIES})
    target_compile_definitions(allreduce_bench PRIVATE RUBATO_BENCH_GLOO)
  endif()

  find_package(MPI QUIET COMPONENTS CXX)
  if(MPI_CXX_FOUND)
    target_sources(allreduce_bench PRIVATE "${dir}/mpi_contender.cc")
    target_include_directories(allreduce_bench SYSTEM PRIVATE ${MPI_CXX_INCLUDE_DIRS})
    target_link_libraries(allreduce_bench PRIVATE ${MPI_CXX_LIBRARIES})
    target_compile_definitions(allreduce_bench PRIVATE RUBATO_BENCH_MPI OMPI_SKIP_MPICXX)
  endif()
endfunction()
