# The version of mbedTLS that plan/signature.c and compiler/emit/sign.c are built from: a Debian source package, which is
# accepted only with this SHA-256.
MBEDTLS_VERSION := 3.6.6
MBEDTLS_SHA256  := 8fb65fae8dcae5840f793c0a334860a411f884cc537ea290ce1c52bb64ca007a

# Its files that plan/signature.c needs, under plan/mbedtls_config.h, besides p256-m.c, which it includes.
MBEDTLS_SOURCES := library/sha256.c
