# find_package(firn) defines firn::firn (the runtime), firn::host (its port for a workstation) and firn::firnc (the
# compiler). All paths are relative to this file, so the installed tree can be moved.
get_filename_component(firn_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
include(CMakeFindDependencyMacro)
find_dependency(Threads)

if(NOT TARGET firn::firn)
    add_library(firn::firn STATIC IMPORTED)
    set_target_properties(firn::firn PROPERTIES
        IMPORTED_LOCATION "${firn_prefix}/lib/libfirn.a"
        INTERFACE_INCLUDE_DIRECTORIES "${firn_prefix}/include/firn"
        INTERFACE_LINK_LIBRARIES "m")

    add_library(firn::host STATIC IMPORTED)
    set_target_properties(firn::host PROPERTIES
        IMPORTED_LOCATION "${firn_prefix}/lib/libfirnhost.a"
        INTERFACE_LINK_LIBRARIES "firn::firn;z;Threads::Threads")

    add_library(firn::firnc STATIC IMPORTED)
    set_target_properties(firn::firnc PROPERTIES
        IMPORTED_LOCATION "${firn_prefix}/lib/libfirnc.a"
        INTERFACE_LINK_LIBRARIES "firn::firn;yaml;cjson;z;m")
endif()
