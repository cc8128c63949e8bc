/* Which images a path stands for, in the order of their records, and which class folder each is in. */
#ifndef FIRN_HOST_TREE_H
#define FIRN_HOST_TREE_H

#include "runtime/targets/host/host.h"

typedef struct firn_host_leaf {
    char *path;
    uint32_t class;       /* index of its class folder; 0 if there are none */
    uint64_t place, many; /* its number among the images of its class, and how many these are */
} firn_host_leaf;

typedef struct firn_host_tree {
    firn_host_leaf *leaves;
    uint32_t count;
    char **classes; /* names of the class folders, in natural order; class_count is 0 if there are none */
    uint64_t *class_images;
    uint32_t class_count;
} firn_host_tree;

/* Finds the images of a file, of a folder, or of the class folders in a folder. What is left out is listed in the
 * stream. Free the tree whatever is returned. */
firn_host_images_result firn_host_tree_read(firn_host_tree *tree, firn_host_stream *stream, const char *path);
void firn_host_tree_free(firn_host_tree *tree);

#endif
