# Compiler, linker and sanitizer settings of every target.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1 -fno-omit-frame-pointer -D_GLIBCXX_ASSERTIONS")

# Results must be the same bytes in every build type: no fused multiply-add, never -ffast-math.
add_compile_options(-ffp-contract=off -fdiagnostics-color=auto)

if(RUBATO_SANITIZE)
  add_compile_options(-fsanitize=${RUBATO_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${RUBATO_SANITIZE} -fno-sanitize-recover=all)
endif()
if(RUBATO_SANITIZE MATCHES thread)
  add_compile_options("SHELL:-include ${CMAKE_CURRENT_LIST_DIR}/tsan_config.h")
endif()
if(RUBATO_SANITIZE_SKIP)
  add_compile_options(-fno-sanitize=${RUBATO_SANITIZE_SKIP})
endif()
if(RUBATO_LIBFUZZER)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# A build from nothing spends most of its time in headers, which every source reads anew. With
# CMAKE_UNITY_BUILD, which the presets release, asan and fuzz set, so many sources of a target are
# compiled as one. The preset tsan compiles file by file, so that a missing include is noticed. Who
# edits one file a lot waits less with `cmake --preset release -DCMAKE_UNITY_BUILD=OFF`.
set(CMAKE_UNITY_BUILD_BATCH_SIZE 16)

find_program(RUBATO_CCACHE ccache)
if(RUBATO_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${RUBATO_CCACHE})
endif()
find_program(RUBATO_MOLD mold)
if(RUBATO_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# Warnings, for our own sources only.
add_library(rubato_warnings INTERFACE)
target_compile_options(
  rubato_warnings
  INTERFACE -Wall
            -Wextra
            -Wpedantic
            -Werror
            -Wshadow
            -Wconversion
            -Wsign-conversion
            -Wdouble-promotion
            -Wnon-virtual-dtor
            -Woverloaded-virtual
            -Wold-style-cast
            -Wcast-align
            -Wcast-qual
            -Wextra-semi
            -Wformat=2
            -Wimplicit-fallthrough
            -Wundef
            -Wunused)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # -Wrestrict reports std::string concatenation without cause (GCC bug 105651).
  target_compile_options(rubato_warnings INTERFACE -Wduplicated-cond -Wlogical-op -Wno-restrict)
  if(CMAKE_UNITY_BUILD)
    # A source that is joined with others counts as a header, whose types should not use unnamed
    # ones; the preset tsan keeps this warning for headers that are.
    target_compile_options(rubato_warnings INTERFACE -Wno-subobject-linkage)
  endif()
  if(RUBATO_SANITIZE)
    # Instrumented code confuses the flow analysis of g++ 12; the release build keeps these.
    target_compile_options(rubato_warnings INTERFACE -Wno-maybe-uninitialized -Wno-array-bounds
                                                     -Wno-stringop-overflow)
  endif()
  if(RUBATO_SANITIZE MATCHES thread)
    # Asio has fences, which the thread sanitizer does not follow, beside the locks, which it does.
    target_compile_options(rubato_warnings INTERFACE -Wno-tsan)
  endif()
endif()
