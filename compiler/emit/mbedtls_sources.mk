# The files of mbedTLS that compiler/emit/sign.c needs, under compiler/emit/mbedtls_config.h.
SIGNING_SOURCES := \
	library/asn1parse.c \
	library/asn1write.c \
	library/base64.c \
	library/bignum.c \
	library/bignum_core.c \
	library/constant_time.c \
	library/ecdsa.c \
	library/ecp.c \
	library/ecp_curves.c \
	library/entropy.c \
	library/entropy_poll.c \
	library/hmac_drbg.c \
	library/md.c \
	library/oid.c \
	library/pem.c \
	library/pk.c \
	library/pk_ecc.c \
	library/pk_wrap.c \
	library/pkparse.c \
	library/pkwrite.c \
	library/platform_util.c \
	library/sha256.c
