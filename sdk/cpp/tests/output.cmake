# Runs PROGRAM, by RUNNER where there is one, and compares its output with the file EXPECTED.
execute_process(COMMAND ${RUNNER} "${PROGRAM}" OUTPUT_VARIABLE output RESULT_VARIABLE result)
file(READ "${EXPECTED}" expected)
if(NOT result EQUAL 0 OR NOT output STREQUAL expected)
    message(FATAL_ERROR
        "${PROGRAM} ended with ${result} and printed\n${output}instead of\n${expected}")
endif()
