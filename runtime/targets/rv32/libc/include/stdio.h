/* Empty: files of mbedTLS include this header, and what is compiled of them uses nothing of it. */
