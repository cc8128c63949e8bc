# The targets, as data: firmware.mk makes rules of it, and runtime/targets/emulated/run reads the emulators. For each
# target the prefix of its tools, the compiler's options for its core, the folder of its start code, the linker script
# with the memory map of its board, the emulator of this board, and the compiler's options for its C library. A target that
# uses no C library of a package has a source of its own in place of it. No rule may be here.

TARGETS := cortex-m0plus cortex-m4f cortex-m7 cortex-m33 cortex-m55 rv32 rv32imac

# Soft floating point. The emulator has no board with this core, so the code runs on a Cortex-M3, which has an MPU.
cortex-m0plus_CROSS := arm-none-eabi-
cortex-m0plus_MACHINE := -mcpu=cortex-m0plus -mthumb -mfloat-abi=soft
cortex-m0plus_LIBC := --specs=picolibc.specs
cortex-m0plus_START := runtime/targets/cortex-m
cortex-m0plus_SCRIPT := runtime/targets/cortex-m/mps2-an385.ld
cortex-m0plus_EMULATOR := qemu-system-arm -M mps2-an385

cortex-m4f_CROSS := arm-none-eabi-
cortex-m4f_MACHINE := -mcpu=cortex-m4 -mthumb -mfpu=fpv4-sp-d16 -mfloat-abi=hard
cortex-m4f_LIBC := --specs=picolibc.specs
cortex-m4f_START := runtime/targets/cortex-m
cortex-m4f_SCRIPT := runtime/targets/cortex-m/mps2-an385.ld
cortex-m4f_EMULATOR := qemu-system-arm -M mps2-an386

cortex-m7_CROSS := arm-none-eabi-
cortex-m7_MACHINE := -mcpu=cortex-m7 -mthumb -mfpu=fpv5-sp-d16 -mfloat-abi=hard
cortex-m7_LIBC := --specs=picolibc.specs
cortex-m7_START := runtime/targets/cortex-m
cortex-m7_SCRIPT := runtime/targets/cortex-m/mps2-an500.ld
cortex-m7_EMULATOR := qemu-system-arm -M mps2-an500

cortex-m33_CROSS := arm-none-eabi-
cortex-m33_MACHINE := -mcpu=cortex-m33 -mthumb -mfpu=fpv5-sp-d16 -mfloat-abi=hard
cortex-m33_LIBC := --specs=picolibc.specs
cortex-m33_START := runtime/targets/cortex-m
cortex-m33_SCRIPT := runtime/targets/cortex-m/mps2-an505.ld
cortex-m33_EMULATOR := qemu-system-arm -M mps2-an505

# Without the vector extension, whose arithmetic always flushes subnormals to zero.
cortex-m55_CROSS := arm-none-eabi-
cortex-m55_MACHINE := -mcpu=cortex-m55+nomve -mthumb -mfloat-abi=hard
cortex-m55_LIBC := --specs=picolibc.specs
cortex-m55_START := runtime/targets/cortex-m
cortex-m55_SCRIPT := runtime/targets/cortex-m/mps3-an547.ld
cortex-m55_EMULATOR := qemu-system-arm -M mps3-an547

rv32_CROSS := riscv64-unknown-elf-
rv32_MACHINE := -march=rv32imafc -mabi=ilp32f
rv32_LIBC := -nolibc -isystem runtime/targets/rv32/libc/include
rv32_LIBC_SOURCE := runtime/targets/rv32/libc/string.c
rv32_START := runtime/targets/rv32
rv32_SCRIPT := runtime/targets/rv32/virt.ld
rv32_EMULATOR := qemu-system-riscv32 -M virt -cpu rv32,d=off -m 64M -bios none

# Soft floating point. Only the start code uses the control registers, which are an extension of their own.
rv32imac_CROSS := riscv64-unknown-elf-
rv32imac_MACHINE := -march=rv32imac -mabi=ilp32
rv32imac_LIBC := -nolibc -isystem runtime/targets/rv32/libc/include
rv32imac_LIBC_SOURCE := runtime/targets/rv32/libc/string.c
rv32imac_START := runtime/targets/rv32
rv32imac_START_FLAGS := -march=rv32imac_zicsr
rv32imac_SCRIPT := runtime/targets/rv32/virt.ld
rv32imac_EMULATOR := qemu-system-riscv32 -M virt -cpu rv32,d=off,f=off -m 64M -bios none
