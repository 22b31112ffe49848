# What every target of ours shares: the include root, the warnings, the sanitizer.
add_library(meshscope_options INTERFACE)
target_include_directories(meshscope_options INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(meshscope_options INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow)
# GCC 12 sees overlapping copies in std::string's own insert and operator+ when it optimizes (GCC bug 105651, mended in 13).
target_compile_options(meshscope_options INTERFACE
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>,$<NOT:$<CONFIG:Debug>>>:-Wno-restrict>)
if(MESHSCOPE_WERROR)
  target_compile_options(meshscope_options INTERFACE -Werror)
endif()
# ON where a target is made from the tests' own code (tests/CMakeLists.txt).
define_property(TARGET PROPERTY MESHSCOPE_TEST_CODE INITIALIZE_FROM_VARIABLE MESHSCOPE_TEST_CODE)
if(MESHSCOPE_SANITIZER STREQUAL "address")
  # Asking at each access whether a pointer is null or misaligned is a third of the compiler's time here. A null pointer ends
  # a test by itself; both are asked of the readers of files, by the fuzzers below.
  target_compile_options(meshscope_options INTERFACE
    -fsanitize=address$<$<NOT:$<BOOL:$<TARGET_PROPERTY:MESHSCOPE_TEST_CODE>>>:,undefined> -fno-sanitize=null,alignment
    -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(meshscope_options INTERFACE -fsanitize=address,undefined)
elseif(MESHSCOPE_SANITIZER STREQUAL "thread")
  target_compile_options(meshscope_options INTERFACE -fsanitize=thread -fno-omit-frame-pointer)
  target_link_options(meshscope_options INTERFACE -fsanitize=thread)
elseif(MESHSCOPE_SANITIZER STREQUAL "fuzz")
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "libFuzzer comes with Clang: use the preset 'fuzz', or -DCMAKE_CXX_COMPILER=clang++")
  endif()
  set(fuzz_options -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_compile_options(meshscope_options INTERFACE ${fuzz_options})
  target_link_options(meshscope_options INTERFACE ${fuzz_options})
elseif(NOT MESHSCOPE_SANITIZER STREQUAL "")
  message(FATAL_ERROR "MESHSCOPE_SANITIZER is '${MESHSCOPE_SANITIZER}'; it may be empty, 'address', 'thread' or 'fuzz'")
endif()

# The presets release, asan, tsan and fuzz set CMAKE_UNITY_BUILD: a target's files are compiled eight at a time, in less of the
# processor's time. Whether each file includes what it needs and hides no name is asked by the preset alone, which
# `scripts/test --deep` compiles.
if(CMAKE_UNITY_BUILD)
  target_compile_options(meshscope_options INTERFACE -Wno-shadow $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endif()

# meshscope_apart(TARGET FILES…): files of TARGET that are compiled alone there too. They have a name in an anonymous
# namespace that another file of it has as well.
function(meshscope_apart target)
  set_source_files_properties(${ARGN} TARGET_DIRECTORY ${target} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# The compiler's cache serves every clone: it is told where this one lies, so that paths below count from there. Few files
# are told themselves (find "where the tree lies"), and what they hold of paths in a message is cut (trace::path_below_root).
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE_PROGRAM})
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})  # the web build has libraries in C
endif()

# meshscope_embed(TARGET NAME FILE...): makes the files' text available to the program as
# `std::string_view meshscope::embedded::NAME(std::string_view file)`, so a program needs no data folder beside it.
function(meshscope_embed target name)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/embedded_${name}.cpp)
  set(files "")
  foreach(f IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH f BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
    list(APPEND files ${f})
  endforeach()
  add_custom_command(OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DOUT=${out} -DNAME=${name} -DROOT=${CMAKE_SOURCE_DIR} "-DFILES=${files}" -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${files} ${CMAKE_SOURCE_DIR}/cmake/embed.cmake VERBATIM)
  target_sources(${target} PRIVATE ${out})
endfunction()
