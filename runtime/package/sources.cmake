# The sources of libfirn for a microcontroller, for builds by CMake that compile it themselves. The Makefile has the same lists (library.mk); a test compares them.

# firn_sources(RESULT ROOT SEALED PARTS): the sources below ROOT, without the signature check. SEALED: true for a sealed
# build (plan/THREAT_MODEL.md). PARTS: the file that `firnc export PLAN --c` wrote; empty: all parts are in. With it the
# tables of all parts are left out, for linkers that take every object.
function(firn_sources result root sealed parts)
    file(GLOB sources CONFIGURE_DEPENDS
        ${root}/plan/*.c ${root}/plan/checks/*.c ${root}/plan/shapes/*.c ${root}/plan/slots/*.c ${root}/plan/checkpoint/*.c
        ${root}/plan/generated/*.c ${root}/schedules/*.c ${root}/runtime/*.c ${root}/runtime/parts/*.c ${root}/runtime/decode/*.c
        ${root}/runtime/numerics/*.c ${root}/runtime/kernels/*.c ${root}/runtime/kernels/elements/*.c
        ${root}/runtime/kernels/images/*.c ${root}/runtime/kernels/layout/*.c ${root}/runtime/kernels/losses/*.c
        ${root}/runtime/kernels/norms/*.c ${root}/runtime/kernels/optimizers/*.c ${root}/runtime/kernels/recurrent/*.c
        ${root}/runtime/kernels/reduce/*.c)
    # The compiler's alone, and what firn_signature_sources has.
    foreach(other signature needs generated/op_since generated/since generated/writer)
        list(REMOVE_ITEM sources ${root}/plan/${other}.c)
    endforeach()
    if(sealed)
        foreach(rules semantics semantics_ops semantics_flow semantics_fields)
            list(REMOVE_ITEM sources ${root}/plan/checks/${rules}.c)
        endforeach()
        list(APPEND sources ${root}/plan/checks/sealed/semantics.c)
    endif()
    if(parts)
        foreach(table plan/shapes/op_parts plan/checks/rule_parts schedules/parts schedules/tree_part
                runtime/parts runtime/kernels/flushed_parts runtime/kernels/parts runtime/kernels/threads_part
                runtime/numerics/half_parts)
            list(REMOVE_ITEM sources ${root}/${table}.c)
        endforeach()
        list(APPEND sources ${parts})
    endif()
    set(${result} ${sources} PARENT_SCOPE)
endfunction()

# firn_quick_sources(RESULT ROOT SOURCES): those of the sources that a build for size compiles for speed, if steps are to be
# quick (FIRN_FAST of the Makefile).
function(firn_quick_sources result root sources)
    set(quick ${sources})
    list(FILTER quick INCLUDE REGEX "/runtime/(kernels/.*|numerics/[^/]*|sample|execute|instance|bind)[.]c$")
    list(REMOVE_ITEM quick ${root}/runtime/kernels/set.c ${root}/runtime/numerics/sum.c)
    set(${result} ${quick} PARENT_SCOPE)
endfunction()

# The options that the bits depend on.
set(firn_options -std=c11 -ffp-contract=off -fno-fast-math -fno-math-errno)

# firn_signature_sources(RESULT ROOT MBEDTLS): the sources of the signature check, with their properties, for targets of
# the folder that calls it. MBEDTLS: a folder with the source of mbedTLS 3.6. Its names get a prefix, so that the program
# may have an mbedTLS of its own.
function(firn_signature_sources result root mbedtls)
    set(sources ${root}/plan/signature.c ${mbedtls}/library/sha256.c)
    # signature.c includes p256-m.c.
    foreach(source ${sources} ${mbedtls}/3rdparty/p256-m/p256-m/p256-m.c)
        if(NOT EXISTS ${source})
            message(FATAL_ERROR "firn: ${source}: is not there; name a folder with the source of mbedTLS 3.6")
        endif()
    endforeach()
    set_source_files_properties(${sources} PROPERTIES
        INCLUDE_DIRECTORIES "${root};${mbedtls}/include;${mbedtls}/3rdparty/p256-m"
        COMPILE_DEFINITIONS "MBEDTLS_CONFIG_FILE=\"runtime/package/mbedtls_config.h\"")
    set(${result} ${sources} PARENT_SCOPE)
endfunction()
