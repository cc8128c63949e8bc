/* Finds an op among those of this build (plan/parts.h). Freestanding. */
#include <stddef.h>

#include "plan/parts.h"

const firn_op_part *firn_op_part_find(uint16_t code) {
    for (uint32_t i = 0; i < firn_op_part_count; i++) {
        if (firn_op_parts[i].row->code == code)
            return &firn_op_parts[i];
    }
    return NULL;
}

const firn_op_info *firn_op_find(uint16_t code) {
    const firn_op_part *part = firn_op_part_find(code);
    return part != NULL ? part->row : NULL;
}

const firn_op_info *firn_op_at(uint32_t i) {
    return firn_op_parts[i].row;
}
