# The files of mbedTLS that plan/signature.c needs, under plan/mbedtls_config.h. library/platform.c is
# deliberately omitted: plan/signature.c replaces it.
MBEDTLS_SOURCES := \
	library/asn1parse.c \
	library/asn1write.c \
	library/bignum.c \
	library/constant_time.c \
	library/ecdsa.c \
	library/ecp.c \
	library/ecp_curves.c \
	library/memory_buffer_alloc.c \
	library/platform_util.c \
	library/sha256.c
