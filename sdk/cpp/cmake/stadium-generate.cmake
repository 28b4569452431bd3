# Defines stadium_generate, for the source tree and for the installed package.

# Generates messages and methods of contracts, compiles them into a target, and links protobuf.
#
#   stadium_generate(TARGET contract.proto... [IMPORT_DIRS folder...])
#
# Contracts are found in the folders, of which the first is the current source folder. What they
# import is found there too; stadium/rpc/v1/options.proto, which needs no folder, is a contract to
# name here like any other that is imported. Headers are included by the paths of their contracts
# below the folders: geo/geo.proto becomes <geo/geo.pb.h> and <geo/geo.stadium.hpp>.
#
# The plugin is that of STADIUM_PROTOC_GEN, or on the PATH.
function(stadium_generate target)
    cmake_parse_arguments(PARSE_ARGV 1 argument "" "" "IMPORT_DIRS")
    set(contracts ${argument_UNPARSED_ARGUMENTS})
    if(NOT TARGET "${target}" OR NOT contracts)
        message(FATAL_ERROR "stadium_generate(TARGET contract.proto... [IMPORT_DIRS folder...])")
    endif()
    get_property(hints GLOBAL PROPERTY stadium_generator_hints)
    find_program(STADIUM_PROTOC_GEN protoc-gen-stadium HINTS ${hints} DOC
        "The plugin of protoc that generates methods")
    if(NOT STADIUM_PROTOC_GEN)
        message(FATAL_ERROR "protoc-gen-stadium is not on the PATH: set STADIUM_PROTOC_GEN, or "
            "install it by `cargo install --path crates/protoc-gen-stadium`")
    endif()
    find_package(Protobuf REQUIRED)

    get_property(own_folder GLOBAL PROPERTY stadium_contracts)
    set(folders "${CMAKE_CURRENT_SOURCE_DIR}")
    foreach(folder IN LISTS argument_IMPORT_DIRS own_folder)
        get_filename_component(folder "${folder}" ABSOLUTE)
        list(APPEND folders "${folder}")
    endforeach()
    list(TRANSFORM folders PREPEND -I OUTPUT_VARIABLE includes)
    set(out "${CMAKE_CURRENT_BINARY_DIR}/stadium-generated/${target}")
    file(MAKE_DIRECTORY "${out}")
    foreach(contract IN LISTS contracts)
        unset(source)
        foreach(folder IN LISTS folders)
            if(EXISTS "${folder}/${contract}" AND NOT IS_ABSOLUTE "${contract}")
                set(source "${folder}/${contract}")
                break()
            endif()
        endforeach()
        if(NOT source)
            message(FATAL_ERROR "stadium_generate: ${contract} is in none of ${folders}")
        endif()
        string(REGEX REPLACE "\\.proto$" "" stem "${contract}")
        set(outputs "${out}/${stem}.pb.cc" "${out}/${stem}.pb.h")
        # A contract without services has no methods.
        file(STRINGS "${source}" services REGEX "^[ \t]*service[ \t]")
        if(services)
            list(APPEND outputs "${out}/${stem}.stadium.hpp")
        endif()
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}")
        add_custom_command(OUTPUT ${outputs}
            COMMAND protobuf::protoc "--plugin=protoc-gen-stadium=${STADIUM_PROTOC_GEN}"
                ${includes} "--cpp_out=${out}" "--stadium_out=cpp:${out}" "${contract}"
            DEPENDS "${source}" "${STADIUM_PROTOC_GEN}" COMMENT "Generating ${contract}" VERBATIM)
        target_sources("${target}" PRIVATE ${outputs})
    endforeach()
    target_include_directories("${target}" SYSTEM PUBLIC "${out}")
    target_link_libraries("${target}" PUBLIC stadium::stadium protobuf::libprotobuf)
endfunction()
