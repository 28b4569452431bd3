# Installs the package, and builds and runs a program against it: by find_package, and by
# add_subdirectory.
function(run)
    execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE
        output)
    if(NOT result EQUAL 0)
        message(FATAL_ERROR "${ARGN}: ${result}\n${output}")
    endif()
endfunction()

file(REMOVE_RECURSE "${SCRATCH}")
run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${SCRATCH}/installed")
# Components of the installed package: where this build has them.
if(HAS_API)
    set(components "-DCOMPONENTS=api receipt")
endif()
foreach(way installed subdirectory)
    run("${CMAKE_COMMAND}" -S "${PROJECT}" -B "${SCRATCH}/${way}-build"
        "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DWAY=${way}"
        "-DCMAKE_PREFIX_PATH=${SCRATCH}/installed" "-DSDK=${SDK}"
            "-DSTADIUM_LIBRARY_DIR=${LIBRARY_DIR}" "${components}")
    run("${CMAKE_COMMAND}" --build "${SCRATCH}/${way}-build")
    run("${SCRATCH}/${way}-build/program")
    if(HAS_API AND way STREQUAL "installed")
        run("${SCRATCH}/${way}-build/api")
    endif()
    set(components)
endforeach()
