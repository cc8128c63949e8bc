/* Start-up of RISC-V in machine mode, from reset to main: the stack, floating point, the data segments, the trap
 * vector, and a locked PMP entry that makes the plan read-only until the next reset, in machine mode too. Nothing here
 * may depend on the contents of a plan. */
#include <string.h>

#include "runtime/targets/board.h"

#define MSTATUS_FS_INITIAL (1u << 13)
/* pmpcfg, one byte for each entry (Privileged Architecture, 3.7.1). */
#define PMP_LOCKED 0x80u
#define PMP_NAPOT  0x18u
#define PMP_READ   0x01u

extern uint8_t firn_data_begin[], firn_data_end[], firn_bss_begin[], firn_bss_end[];
extern const uint8_t firn_data_image[];

int main(void);
void firn_start(void);
void firn_start_in_c(void) __attribute__((noreturn, used));
void firn_trap(void);

__attribute__((weak)) void firn_board_fault(uintptr_t address) {
    (void)address;
    for (;;) {
    }
}

/* No interrupt is enabled, so every trap is a fault. mtvec must be a multiple of 4. */
__attribute__((aligned(4))) void firn_trap(void) {
    uintptr_t address;
    __asm__ volatile("csrr %0, mtval" : "=r"(address));
    firn_board_fault(address);
}

static size_t bytes_between(const uint8_t *begin, const uint8_t *end) {
    return (size_t)((uintptr_t)end - (uintptr_t)begin);
}

/* The linker script ensures that the region's size is a power of two and that the region is aligned to its size. */
static void make_plan_read_only(void) {
    uintptr_t begin = (uintptr_t)firn_plan_region;
    uintptr_t bytes = (uintptr_t)firn_plan_region_end - begin;
    __asm__ volatile("csrw pmpaddr0, %0" : : "r"(begin >> 2 | ((bytes >> 3) - 1)));
    __asm__ volatile("csrw pmpcfg0, %0" : : "r"(PMP_LOCKED | PMP_NAPOT | PMP_READ) : "memory");
}

void firn_start_in_c(void) {
    __asm__ volatile("csrs mstatus, %0" : : "r"(MSTATUS_FS_INITIAL) : "memory");
    __asm__ volatile("csrw mtvec, %0" : : "r"((uintptr_t)firn_trap));
    memcpy(firn_data_begin, firn_data_image, bytes_between(firn_data_begin, firn_data_end));
    memset(firn_bss_begin, 0, bytes_between(firn_bss_begin, firn_bss_end));
    make_plan_read_only();
    main();
    for (;;) {
    }
}

__attribute__((section(".vectors"), naked, used)) void firn_start(void) {
    __asm__("la sp, firn_stack_top\n"
            "j firn_start_in_c\n");
}
