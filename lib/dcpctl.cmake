# The helpers that make every target: dcpctl_library(), dcpctl_program(), dcpctl_plugin() and dcpctl_test().
# Compiler settings travel on the interface target dcpctl_options, so nothing here sets a global flag.

add_library(dcpctl_options INTERFACE)
target_compile_features(dcpctl_options INTERFACE cxx_std_20)
target_compile_options(dcpctl_options INTERFACE -Wall -Wextra -Wconversion -Wshadow)
# Two warnings GCC gets wrong: values inside an empty std::optional or tl::expected, which nobody reads, and (GCC 12)
# "text" + std::string.
target_compile_options(dcpctl_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized -Wno-restrict>)
# Line tables are enough for a backtrace and keep a release build small and quick to link.
target_compile_options(dcpctl_options INTERFACE $<$<CONFIG:RelWithDebInfo>:-g1>)
target_link_options(dcpctl_options INTERFACE LINKER:--as-needed)
if(DCPCTL_WERROR)
  target_compile_options(dcpctl_options INTERFACE -Werror)
endif()
if(DCPCTL_FUZZ AND NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  message(FATAL_ERROR "DCPCTL_FUZZ needs Clang, whose libFuzzer it is: -DCMAKE_CXX_COMPILER=clang++")
endif()
if(DCPCTL_SANITIZE STREQUAL "address")
  set(dcpctl_sanitizers -fsanitize=address,undefined -fno-sanitize-recover=all)
elseif(DCPCTL_SANITIZE STREQUAL "thread")
  set(dcpctl_sanitizers -fsanitize=thread)
elseif(DCPCTL_SANITIZE)
  message(FATAL_ERROR "DCPCTL_SANITIZE is \"${DCPCTL_SANITIZE}\", expected \"\", \"address\" or \"thread\"")
endif()
if(DCPCTL_FUZZ)
  list(APPEND dcpctl_sanitizers -fsanitize=fuzzer-no-link)
endif()
if(DCPCTL_SANITIZE)
  target_compile_options(dcpctl_options INTERFACE ${dcpctl_sanitizers} -fno-omit-frame-pointer)
  if(DCPCTL_TESTS)
    # After the build type's -O2: as good for finding faults, and half the time to compile.
    target_compile_options(dcpctl_options INTERFACE -O1)
  endif()
  target_link_options(dcpctl_options INTERFACE ${dcpctl_sanitizers})
endif()
# Behind dcpctl_options. A test runs once: to optimise it takes the compiler longer than it saves, mostly.
add_library(dcpctl_test_options INTERFACE)
target_compile_options(dcpctl_test_options INTERFACE -O0)

# dcpctl_library(<folder> SOURCES a.cc... LINKS target...) makes dcpctl_<folder>: the objects of one folder of
# lib/, which the root joins into libdcpctl. LINKS names other folders (dcpctl_base) and packages. A folder
# of headers only gives no SOURCES.
function(dcpctl_library folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINKS")
  set(target dcpctl_${folder})
  if(arg_SOURCES)
    add_library(${target} OBJECT ${arg_SOURCES})
    target_link_libraries(${target} PUBLIC ${arg_LINKS} PRIVATE dcpctl_options)
    target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/lib)
    set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
    target_sources(dcpctl PRIVATE $<TARGET_OBJECTS:${target}>)
  else()
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE ${arg_LINKS})
  endif()
endfunction()

# dcpctl_program(<target> SOURCES a.cc... LINKS target...) makes an executable on top of libdcpctl that sees
# the internal headers too.
function(dcpctl_program target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINKS")
  add_executable(${target} ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE ${arg_LINKS} dcpctl dcpctl_options)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/lib)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
endfunction()

# dcpctl_plugin(<name> SOURCES a.cc... [LINKS target...]) makes <name>.so, a plug-in: loaded at run time, linked by
# nobody, and seeing nothing of libdcpctl but lib/plugin/abi.h.
function(dcpctl_plugin name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINKS")
  add_library(${name} MODULE ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINKS} dcpctl_options)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/lib)
  target_compile_definitions(${name} PRIVATE DCPCTL_VERSION="${PROJECT_VERSION}")
  set_target_properties(${name} PROPERTIES PREFIX "" CXX_EXTENSIONS OFF CXX_VISIBILITY_PRESET hidden
                                           LIBRARY_OUTPUT_DIRECTORY ${DCPCTL_PLUGIN_BUILD_DIR})
  install(TARGETS ${name} LIBRARY DESTINATION lib/dcpctl)
endfunction()

# dcpctl_test(<name> SOURCES a_test.cc... [LINKS target...] [TIMEOUT seconds] [THREADS] [HEAVY]) makes the GoogleTest
# executable <name>_test and registers it with ctest as <name>. It can use RapidCheck, OpenSSL's digests and
# tests/support. THREADS marks tests of code that runs on several threads: those run under ThreadSanitizer too. HEAVY
# marks tests that compute so much that they are worth optimising.
function(dcpctl_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "THREADS;HEAVY" "TIMEOUT" "SOURCES;LINKS")
  dcpctl_program(${name}_test SOURCES ${arg_SOURCES} LINKS ${arg_LINKS} dcpctl_test_base)
  if(NOT arg_HEAVY)
    target_link_libraries(${name}_test PRIVATE dcpctl_test_options)
  endif()
  set_target_properties(${name}_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name}_test --gtest_brief=1 WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS ${name})
  if(arg_THREADS)
    set_tests_properties(${name} PROPERTIES LABELS "${name};threads")
    add_dependencies(dcpctl_thread_tests ${name}_test)
  endif()
endfunction()
