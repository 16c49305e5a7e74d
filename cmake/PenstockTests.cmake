# SPDX-License-Identifier: Apache-2.0
# penstock_unit_test(<name> <sources>... [LABELS <label>...])
#     A GoogleTest program in one process, linked with the library's internals. All its cases are one test.
# penstock_mpi_test(NAME <name> [<source>...] RANKS <n>... [TRANSPORTS <t>...] [ENV <VAR=value>...] [ARGS <arg>...]
#                   [TIMEOUT <seconds>] [LABELS <label>...])
#     An MPI program over the public API and tests/support; <name>.cpp if no source is named. It makes one test
#     <name>.<transport>.<ranks> for each pair. Transports: peer, peer-nocma (no cross-memory copy), ofi (where it is built), proxy, default (no choice).
# penstock_add_mpi_runs(NAME <name> TARGET <target> ...)
#     The runs of penstock_mpi_test for a program that exists already. LONG: with PENSTOCK_TEST_LONG=1, and only
#     under `ctest -C Long`.
# What `make test` has no time for has the label seldom: make test-all runs it.
# penstock_brief_suite()
#     At the end of a folder: the target brief builds its programs, and its tests of two ranks get the label brief. It is
#     what continuous integration has time for in the trees of sanitizers and flags.
# TIMEOUT only ends a hang; no test passes or fails by the time it takes.

# The usual TIMEOUT. The slowest everyday tests take 50 s to 90 s alone on two cores, and several times that beside other
# work. One that may need more than a third of this asks for more.
set(penstock_test_timeout 600)
if(PENSTOCK_SANITIZE)
  set(penstock_test_timeout 1800)
endif()

# Tests take longer to optimise than they save: programs of GoogleTest compile in 60 % of the time at -O1.
function(penstock_test_options target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

function(penstock_unit_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LABELS")
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(${name} PRIVATE penstock_internal GTest::gtest_main)
  penstock_test_options(${name})
  penstock_sanitized_program(${name})
  add_test(NAME ${name} COMMAND ${name})
  penstock_sanitizer_environment(environment)
  set_tests_properties(${name} PROPERTIES TIMEOUT ${penstock_test_timeout} LABELS "unit;${arg_LABELS}"
    ENVIRONMENT "${environment}")
endfunction()

function(penstock_mpi_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;TIMEOUT" "RANKS;TRANSPORTS;ENV;ARGS;LABELS")
  set(sources ${arg_UNPARSED_ARGUMENTS})
  if(NOT sources)
    set(sources ${arg_NAME}.cpp)
  endif()
  add_executable(${arg_NAME} ${sources})
  target_include_directories(${arg_NAME} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  # penstock stands before MPI, so that the recorder sees the program's requests.
  target_link_libraries(${arg_NAME} PRIVATE penstock_flags penstock_test_support penstock GTest::gtest)
  penstock_test_options(${arg_NAME})
  penstock_sanitized_program(${arg_NAME})
  list(REMOVE_ITEM ARGN ${sources})
  penstock_add_mpi_runs(${ARGN} TARGET ${arg_NAME})
endfunction()

function(penstock_add_mpi_runs)
  cmake_parse_arguments(PARSE_ARGV 0 arg "LONG" "NAME;TARGET;TIMEOUT" "RANKS;TRANSPORTS;ENV;ARGS;LABELS")
  if(NOT arg_RANKS)
    message(FATAL_ERROR "${arg_NAME}: a run without RANKS is none")
  endif()
  if(NOT arg_TRANSPORTS)
    set(arg_TRANSPORTS default)
  endif()
  set(configurations "")
  if(arg_LONG)
    set(configurations CONFIGURATIONS Long)
    list(APPEND arg_ENV PENSTOCK_TEST_LONG=1)
    list(APPEND arg_LABELS long)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT ${penstock_test_timeout})
  endif()
  penstock_launcher_environment(launcher_environment)
  if(NOT LIBFABRIC_FOUND)
    list(REMOVE_ITEM arg_TRANSPORTS ofi)
  endif()
  foreach(transport IN LISTS arg_TRANSPORTS)
    penstock_transport_environment(transport_environment ${transport})
    penstock_sanitizer_environment(sanitizer_environment ${transport})
    foreach(ranks IN LISTS arg_RANKS)
      set(test ${arg_NAME}.${transport}.${ranks})
      set(processors 2)
      if(ranks EQUAL 1)
        set(processors 1)
      endif()
      add_test(NAME ${test} ${configurations}
        COMMAND "${MPIEXEC_EXECUTABLE}" ${MPIEXEC_NUMPROC_FLAG} ${ranks} ${MPIEXEC_PREFLAGS}
                $<TARGET_FILE:${arg_TARGET}> ${MPIEXEC_POSTFLAGS} ${arg_ARGS})
      set_tests_properties(${test} PROPERTIES
        TIMEOUT ${arg_TIMEOUT}
        PROCESSORS ${processors}
        LABELS "mpi;${transport};ranks${ranks};${arg_LABELS}"
        ENVIRONMENT "${launcher_environment};${sanitizer_environment};${transport_environment};${arg_ENV}")
    endforeach()
  endforeach()
endfunction()

function(penstock_brief_suite)
  if(NOT TARGET brief)
    add_custom_target(brief)
  endif()
  get_property(programs DIRECTORY PROPERTY BUILDSYSTEM_TARGETS)
  list(REMOVE_ITEM programs brief)
  add_dependencies(brief ${programs})
  get_property(tests DIRECTORY PROPERTY TESTS)
  list(FILTER tests INCLUDE REGEX "[.]2$")
  foreach(test IN LISTS tests)
    set_property(TEST ${test} APPEND PROPERTY LABELS brief)
  endforeach()
endfunction()

# At the end of the project: the target everyday builds what `make test` runs with a second MPI, which is all but the programs
# that know no MPI, and those of several hosts.
function(penstock_everyday_target)
  add_custom_target(everyday)
  set(folders conformance network halo fault abi bench)
  list(TRANSFORM folders PREPEND "tests/")
  if(TARGET penstock_command)
    list(APPEND folders tools apps/life/test apps/faces/test apps/jacobi/test apps/cg/test apps/comb/test)
  endif()
  if(PENSTOCK_BUILD_EXAMPLES)
    list(APPEND folders examples)
  endif()
  set(programs penstock penstock_halo world_program datatype_program)
  foreach(folder IN LISTS folders)
    get_property(targets DIRECTORY "${PROJECT_SOURCE_DIR}/${folder}" PROPERTY BUILDSYSTEM_TARGETS)
    list(APPEND programs ${targets})
  endforeach()
  add_dependencies(everyday ${programs})
endfunction()

function(penstock_transport_environment result transport)
  if(transport STREQUAL "peer")
    set(environment PENSTOCK_TRANSPORT=peer)
  elseif(transport STREQUAL "peer-nocma")
    set(environment PENSTOCK_TRANSPORT=peer PENSTOCK_CMA=0)
  elseif(transport STREQUAL "proxy")
    set(environment PENSTOCK_TRANSPORT=proxy PENSTOCK_THREAD_MULTIPLE=1)
  elseif(transport STREQUAL "ofi")
    set(environment PENSTOCK_TRANSPORT=ofi)
  elseif(transport STREQUAL "default")
    set(environment "")
  else()
    message(FATAL_ERROR "Unknown transport '${transport}': peer, peer-nocma, ofi, proxy or default")
  endif()
  set(${result} "${environment}" PARENT_SCOPE)
endfunction()

# Open MPI refuses root and more ranks than cores, and binds ranks to cores, unless told otherwise.
function(penstock_launcher_environment result)
  set(environment "")
  if(penstock_mpi_vendor STREQUAL "openmpi")
    set(environment
      OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
      OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
      PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe PRTE_MCA_hwloc_default_binding_policy=none)
  endif()
  set(${result} "${environment}" PARENT_SCOPE)
endfunction()

# UCX replaces malloc's hooks, which fights the sanitizers' own. hwloc's component "pci" reads the names of all devices of the
# world into a list that grows line by line, which with the sanitizers' realloc() takes each MPI_Init() and each choice of a
# provider seconds; without it hwloc finds the same devices by itself. The files of suppressions say why each is there. A test
# over one transport names it.
function(penstock_sanitizer_environment result)
  set(environment "")
  set(folder "${PROJECT_SOURCE_DIR}/tests/sanitizers")
  if(PENSTOCK_SANITIZE)
    set(environment UCX_MEM_EVENTS=no UCX_MEM_MALLOC_HOOKS=no HWLOC_COMPONENTS=-pci)
  endif()
  if(PENSTOCK_SANITIZE STREQUAL "address")
    # The MPIs have no frame pointers, and the functions in lsan.supp lie behind others. GCC 12 guesses how large a library's
    # thread-local memory is where that was allocated: at address 16 of a page it takes the allocator's header for that of an old
    # glibc, and the search for leaks falls over ("Tracer caught signal 11"). Without a guess it looks at none of that memory,
    # which elsewhere in a page is so in any case.
    set(options detect_stack_use_after_return=1:fast_unwind_on_malloc=0:intercept_tls_get_addr=0)
    list(APPEND environment
      "ASAN_OPTIONS=${options}"
      "LSAN_OPTIONS=suppressions=${folder}/lsan.supp:print_suppressions=0"
      "UBSAN_OPTIONS=print_stacktrace=1")
  elseif(PENSTOCK_SANITIZE STREQUAL "thread")
    set(suppressions "${folder}/tsan-${penstock_mpi_vendor}.supp")
    if(penstock_mpi_vendor STREQUAL "openmpi" AND "${ARGV1}" STREQUAL "proxy")
      file(READ "${suppressions}" both)
      file(READ "${folder}/tsan-openmpi-proxy.supp" proxy)
      set(suppressions "${PROJECT_BINARY_DIR}/tsan-openmpi-proxy.supp")
      file(WRITE "${suppressions}" "${both}\n${proxy}")
    endif()
    # A report is known by functions of both its stacks: the longest history, or the older one may be lost.
    list(APPEND environment
      "TSAN_OPTIONS=suppressions=${suppressions}:history_size=7:halt_on_error=0:exitcode=66:second_deadlock_stack=1")
    if(penstock_mpi_vendor STREQUAL "openmpi")
      list(APPEND environment OMPI_MCA_btl_vader_single_copy_mechanism=none)
    endif()
  endif()
  set(${result} "${environment}" PARENT_SCOPE)
endfunction()
