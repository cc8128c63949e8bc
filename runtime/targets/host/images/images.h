/* Images as data: PNG and JPEG files, folders of them, and folders of class folders, as records of bytes
 * (runtime/DATA.md, "Images"). A program that reads images links libpng and libjpeg, where they were found when firn
 * was built; one that never names firn_host_images_read needs neither. */
#ifndef FIRN_HOST_IMAGES_H
#define FIRN_HOST_IMAGES_H

#include "runtime/targets/host/host.h"

firn_host_images_reader firn_host_images_read;

#endif
