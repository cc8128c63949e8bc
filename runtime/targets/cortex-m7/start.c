/* Start-up of Cortex-M7, from reset to main: the vector table, the FPU, the data segments, and an MPU region that makes
 * the plan read-only and not executable. Nothing here may depend on the contents of a plan. */
#include <string.h>

#include "runtime/targets/board.h"

/* Registers of the system control block and of the MPU (Armv7-M Architecture Reference Manual, B3.2 and B3.5). */
#define SHCSR    (*(volatile uint32_t *)0xe000ed24u)
#define MMFAR    (*(volatile uint32_t *)0xe000ed34u)
#define CPACR    (*(volatile uint32_t *)0xe000ed88u)
#define MPU_CTRL (*(volatile uint32_t *)0xe000ed94u)
#define MPU_RNR  (*(volatile uint32_t *)0xe000ed98u)
#define MPU_RBAR (*(volatile uint32_t *)0xe000ed9cu)
#define MPU_RASR (*(volatile uint32_t *)0xe000eda0u)

#define SHCSR_MEMFAULTENA   (1u << 16)
#define CPACR_FPU_FULL      (0xfu << 20)
#define MPU_CTRL_ENABLE     1u
#define MPU_CTRL_PRIVDEFENA (1u << 2) /* privileged code uses the default memory map outside the regions */
#define RASR_ENABLE         1u
#define RASR_XN             (1u << 28)
#define RASR_READ_ONLY      (6u << 24) /* for privileged and unprivileged code */
#define RASR_NORMAL_MEMORY  (1u << 17)

extern uint8_t firn_data_begin[], firn_data_end[], firn_bss_begin[], firn_bss_end[], firn_stack_top[];
extern const uint8_t firn_data_image[];

int main(void);
void firn_start(void) __attribute__((noreturn));

__attribute__((weak)) void firn_board_fault(uintptr_t address) {
    (void)address;
    for (;;) {
    }
}

static void memory_fault(void) {
    firn_board_fault(MMFAR);
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

/* The linker script ensures that the region's size is a power of two and that the region is aligned to its size. */
static void make_plan_read_only(void) {
    uint32_t begin = (uint32_t)(uintptr_t)firn_plan_region;
    uint32_t bytes = (uint32_t)(uintptr_t)firn_plan_region_end - begin;
    uint32_t power = 31u - (uint32_t)__builtin_clz(bytes);
    MPU_RNR = 0;
    MPU_RBAR = begin;
    MPU_RASR = RASR_XN | RASR_READ_ONLY | RASR_NORMAL_MEMORY | (power - 1) << 1 | RASR_ENABLE;
    MPU_CTRL = MPU_CTRL_PRIVDEFENA | MPU_CTRL_ENABLE;
    SHCSR |= SHCSR_MEMFAULTENA;
    __asm__ volatile("dsb\n isb" ::: "memory");
}

void firn_start(void) {
    CPACR |= CPACR_FPU_FULL;
    __asm__ volatile("dsb\n isb" ::: "memory");
    memcpy(firn_data_begin, firn_data_image, bytes_between(firn_data_begin, firn_data_end));
    memset(firn_bss_begin, 0, bytes_between(firn_bss_begin, firn_bss_end));
    make_plan_read_only();
    main();
    for (;;) {
    }
}
