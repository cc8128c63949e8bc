/* What a device is, as the header of a plan names it: vendor, class and image id. Freestanding. */
#ifndef FIRN_PLAN_DEVICE_H
#define FIRN_PLAN_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct firn_identity {
    uint8_t vendor[16], class_id[16]; /* UUIDs, or at most 16 characters filled up with zeros */
    uint32_t image_id;                /* tells the plans of one device apart */
} firn_identity;

/* Reads a vendor or a class: a UUID, or at most 16 characters without spaces. Returns false if it is neither. */
bool firn_device_id_read(const char *text, size_t length, uint8_t id[16]);

#endif
