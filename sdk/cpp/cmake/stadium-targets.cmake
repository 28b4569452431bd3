# Defines stadium::stadium, for the source tree and for the installed package.

# The headers in these folders, and the shared library in that one; the static one where
# STADIUM_STATIC is true.
function(stadium_targets include_folders library_folder)
    if(TARGET stadium::stadium)
        return()
    endif()
    find_package(Threads REQUIRED)
    if(STADIUM_STATIC)
        add_library(stadium_c STATIC IMPORTED GLOBAL)
        set_target_properties(stadium_c PROPERTIES IMPORTED_LOCATION
            "${library_folder}/libstadium_c.a"
            INTERFACE_LINK_LIBRARIES "Threads::Threads;dl;m;gcc_s")
    else()
        # The library has no soname: programs name it by its file name, and find it by
        # their run path.
        add_library(stadium_c SHARED IMPORTED GLOBAL)
        set_target_properties(stadium_c PROPERTIES IMPORTED_LOCATION
            "${library_folder}/libstadium_c.so"
            IMPORTED_NO_SONAME TRUE INTERFACE_LINK_LIBRARIES Threads::Threads)
    endif()
    add_library(stadium INTERFACE)
    add_library(stadium::stadium ALIAS stadium)
    target_include_directories(stadium SYSTEM INTERFACE ${include_folders})
    target_compile_features(stadium INTERFACE cxx_std_20)
    target_link_libraries(stadium INTERFACE stadium_c Threads::Threads)
endfunction()
