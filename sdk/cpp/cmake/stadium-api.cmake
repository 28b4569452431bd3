# Defines stadium::api, the push platform, wallets, queues and workers; and stadium::receipt, the
# check of receipts.
#
# stadium::api needs protobuf: its messages are generated when the program is built.
# stadium::receipt needs libcrypto of OpenSSL.

# The contracts are in this folder, as stadium/v1/NAME.proto.
function(stadium_api_target proto_folder)
    if(TARGET stadium::api)
        return()
    endif()
    set(output "${CMAKE_CURRENT_BINARY_DIR}/stadium-api")
    set(generated)
    foreach(name stadium queue wallet push)
        set(files "${output}/stadium/v1/${name}.pb.cc" "${output}/stadium/v1/${name}.pb.h")
        add_custom_command(OUTPUT ${files}
            COMMAND "${CMAKE_COMMAND}" -E make_directory "${output}"
            COMMAND protobuf::protoc "--proto_path=${proto_folder}" "--cpp_out=${output}"
                "stadium/v1/${name}.proto"
            DEPENDS "${proto_folder}/stadium/v1/${name}.proto"
            COMMENT "Messages of stadium/v1/${name}.proto" VERBATIM)
        list(APPEND generated ${files})
    endforeach()
    add_library(stadium_api STATIC EXCLUDE_FROM_ALL ${generated})
    add_library(stadium::api ALIAS stadium_api)
    set_target_properties(stadium_api PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_compile_options(stadium_api PRIVATE -w)
    target_include_directories(stadium_api SYSTEM PUBLIC "${output}")
    target_link_libraries(stadium_api PUBLIC stadium::stadium protobuf::libprotobuf)
endfunction()

function(stadium_receipt_target)
    if(TARGET stadium::receipt)
        return()
    endif()
    add_library(stadium_receipt INTERFACE)
    add_library(stadium::receipt ALIAS stadium_receipt)
    target_link_libraries(stadium_receipt INTERFACE stadium::stadium OpenSSL::Crypto)
endfunction()
