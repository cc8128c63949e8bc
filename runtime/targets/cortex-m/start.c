/* Start-up of Cortex-M (v6-M, v7-M, v8-M), from reset to main: the vector table, the FPU, the data segments, and an MPU
 * region that makes the plan read-only and not executable. A core without an MPU leaves the plan writable. Nothing here
 * may depend on the contents of a plan. */
#include <string.h>

#include "runtime/targets/board.h"

/* Registers of the system control block and of the MPU (Architecture Reference Manuals of Armv6-M, v7-M and v8-M). */
#define SHCSR     (*(volatile uint32_t *)0xe000ed24u)
#define MMFAR     (*(volatile uint32_t *)0xe000ed34u)
#define CPACR     (*(volatile uint32_t *)0xe000ed88u)
#define MPU_TYPE  (*(volatile uint32_t *)0xe000ed90u)
#define MPU_CTRL  (*(volatile uint32_t *)0xe000ed94u)
#define MPU_RNR   (*(volatile uint32_t *)0xe000ed98u)
#define MPU_RBAR  (*(volatile uint32_t *)0xe000ed9cu)
#define MPU_RASR  (*(volatile uint32_t *)0xe000eda0u) /* v6-M and v7-M */
#define MPU_RLAR  (*(volatile uint32_t *)0xe000eda0u) /* v8-M */
#define MPU_MAIR0 (*(volatile uint32_t *)0xe000edc0u) /* v8-M */

#define SHCSR_MEMFAULTENA   (1u << 16)
#define CPACR_FPU_FULL      (0xfu << 20)
#define MPU_TYPE_REGIONS    (0xffu << 8)
#define MPU_CTRL_ENABLE     1u
#define MPU_CTRL_PRIVDEFENA (1u << 2) /* privileged code uses the default memory map outside the regions */
#define RASR_ENABLE         1u
#define RASR_XN             (1u << 28)
#define RASR_READ_ONLY      (6u << 24) /* for privileged and unprivileged code */
#define RASR_NORMAL_MEMORY  (1u << 17)
#define RBAR_XN             1u
#define RBAR_READ_ONLY      (3u << 1) /* for privileged and unprivileged code */
#define RLAR_ENABLE         1u
#define RLAR_UNIT           32u
#define MAIR_WRITE_THROUGH  0xaau

extern uint8_t firn_data_begin[], firn_data_end[], firn_bss_begin[], firn_bss_end[], firn_stack_top[];
extern const uint8_t firn_data_image[];

int main(void);
void firn_start(void) __attribute__((noreturn));

__attribute__((weak)) void firn_board_fault(uintptr_t address) {
    (void)address;
    for (;;) {
    }
}

/* v6-M has neither this fault, but a hard fault in its place, nor a register for the address. */
static void memory_fault(void) {
#if __ARM_ARCH > 6
    firn_board_fault(MMFAR);
#else
    firn_board_fault(0);
#endif
}

static void other_fault(void) {
    firn_board_fault(0);
}

/* The sixteen system entries; no interrupt is used. */
typedef struct vector_table {
    const uint8_t *stack;
    void (*start)(void);
    void (*not_maskable)(void);
    void (*hard_fault)(void);
    void (*memory_fault)(void);
    void (*bus_fault)(void);
    void (*usage_fault)(void);
    void (*unused[9])(void);
} vector_table;

__attribute__((section(".vectors"), used)) static const vector_table vectors = {
    firn_stack_top, firn_start, other_fault, other_fault, memory_fault, other_fault, other_fault, {NULL},
};

static size_t bytes_between(const uint8_t *begin, const uint8_t *end) {
    return (size_t)((uintptr_t)end - (uintptr_t)begin);
}

/* The linker script ensures that the region has a size and an alignment that the MPU can express. */
#if __ARM_ARCH >= 8
static void describe_region(uint32_t begin, uint32_t end) {
    MPU_MAIR0 = MAIR_WRITE_THROUGH;
    MPU_RBAR = begin | RBAR_READ_ONLY | RBAR_XN;
    MPU_RLAR = (end - RLAR_UNIT) | RLAR_ENABLE;
}
#else
static void describe_region(uint32_t begin, uint32_t end) {
    uint32_t power = 31u - (uint32_t)__builtin_clz(end - begin);
    MPU_RBAR = begin;
    MPU_RASR = RASR_XN | RASR_READ_ONLY | RASR_NORMAL_MEMORY | (power - 1) << 1 | RASR_ENABLE;
}
#endif

static void make_plan_read_only(void) {
    if ((MPU_TYPE & MPU_TYPE_REGIONS) == 0)
        return;
    MPU_RNR = 0;
    describe_region((uint32_t)(uintptr_t)firn_plan_region, (uint32_t)(uintptr_t)firn_plan_region_end);
    MPU_CTRL = MPU_CTRL_PRIVDEFENA | MPU_CTRL_ENABLE;
#if __ARM_ARCH > 6
    SHCSR |= SHCSR_MEMFAULTENA;
#endif
    __asm__ volatile("dsb\n isb" ::: "memory");
}

void firn_start(void) {
#ifdef __ARM_FP
    CPACR |= CPACR_FPU_FULL;
    __asm__ volatile("dsb\n isb" ::: "memory");
#endif
    memcpy(firn_data_begin, firn_data_image, bytes_between(firn_data_begin, firn_data_end));
    memset(firn_bss_begin, 0, bytes_between(firn_bss_begin, firn_bss_end));
    make_plan_read_only();
    main();
    for (;;) {
    }
}
