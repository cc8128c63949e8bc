"""Runs a Linux program of x86-64 on an emulated Sapphire Rapids, so that the instructions of AVX-512, AVX512-FP16 and
AVX512-BF16 run where no CPU has them:

    python3 tests/emulated_x86/run.py WHEEL CORRECTIONS.so PROGRAM [ARGUMENT]...

WHEEL is the unpacked package bochscpu-python, the CPU of the emulator Bochs, and CORRECTIONS.so is corrections.c,
compiled. The program is the one that runs on the machine itself: it is loaded with its dynamic loader, in user mode, and
its system calls go to the machine's kernel, with the pointers translated. There is one CPU: a thread runs until it waits
for another one. The environment is passed on. The exit status is that of the program, 98 after a CPU exception such as an illegal
instruction, and 97 if this file lacks what the program asks for.

The emulated machine is one flat address space: guest address a is at BASE + a of this process, every page may be
written and executed, and only the first 64 KiB are no memory. No kernel of Firn may be imitated here.
"""

import ctypes
import os
import struct
import sys
import traceback

GIB = 1 << 30
SIZE = 64 * GIB
NO_MEMORY_BELOW = 0x10000
# Guest addresses: the page tables, the entry of system calls, the program, its loader, the top of the stack, and the
# first address that mmap gives.
TABLES, SYSTEM_CALL, PROGRAM, LOADER, STACK, MAPPINGS = 0x10000, 0x20000, GIB, 2 * GIB, 3 * GIB, 3 * GIB
SAPPHIRE_RAPIDS = 30  # in Bochs's list of CPU models
FAILED, EXCEPTION = 97, 98
NO_SUCH_CALL, NO_MEMORY, TRY_AGAIN = -38, -12, -11

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
PRIVATE_ANONYMOUS_NO_RESERVE = 0x4022
BASE = libc.mmap(None, SIZE, 3, PRIVATE_ANONYMOUS_NO_RESERVE, -1, 0)

corrections = ctypes.CDLL(os.path.abspath(sys.argv[2]), ctypes.RTLD_GLOBAL)
sys.path.insert(0, sys.argv[1])
import bochscpu.memory  # noqa: E402
from bochscpu import _bochscpu  # noqa: E402

# What the package exports besides its classes.
library = ctypes.CDLL(_bochscpu.__file__)
library.sim_get_param_enum.restype = ctypes.c_void_p
corrections.firn_correct(os.fsencode(_bochscpu.__file__))


def fail(status, text):
    print(f"emulated x86: {text}", file=sys.stderr, flush=True)
    os._exit(status)


def guarded(function):
    """An exception of Python may not pass through Bochs."""

    def call(*arguments):
        try:
            return function(*arguments)
        except Exception:
            fail(FAILED, traceback.format_exc())

    return call


def write(address, data):
    ctypes.memmove(BASE + address, bytes(data), len(data))


def read(address, count):
    return ctypes.string_at(BASE + address, count)


def pages(count):
    return (count + 0xFFF) & ~0xFFF


class Image:
    """An ELF file in memory: a program or its loader."""

    def __init__(self, path, base):
        with open(path, "rb") as file:
            data = file.read()
        if data[:6] != b"\x7fELF\x02\x01" or struct.unpack_from("<H", data, 18)[0] != 62:
            fail(FAILED, f"{path} is no program of x86-64")
        (kind,) = struct.unpack_from("<H", data, 16)
        base = 0 if kind == 2 else base
        entry, headers = struct.unpack_from("<QQ", data, 24)
        self.header_size, self.header_count = struct.unpack_from("<HH", data, 54)
        self.entry, self.base, self.end, self.loader, self.headers = base + entry, base, 0, None, 0
        for i in range(self.header_count):
            kind, _, offset, address, _, in_file, in_memory, _ = struct.unpack_from(
                "<IIQQQQQQ", data, headers + i * self.header_size
            )
            if kind == 1:  # PT_LOAD
                write(base + address, data[offset : offset + in_file])
                self.end = max(self.end, base + address + in_memory)
                if offset <= headers < offset + in_file:
                    self.headers = base + address + headers - offset
            elif kind == 3:  # PT_INTERP
                self.loader = data[offset : offset + in_file - 1].decode()


def build_stack(image, loader, arguments):
    """Writes arguments, environment and auxiliary vector; returns the stack pointer."""
    top = STACK - 0x1000

    def push(text):
        nonlocal top
        top -= len(text) + 1
        write(top, text + b"\0")
        return top

    names = [push(os.fsencode(word)) for word in arguments]
    variables = [push(os.fsencode(f"{name}={value}")) for name, value in os.environ.items()]
    random = push(b"sixteen bytes...")
    auxiliary = {3: image.headers, 4: image.header_size, 5: image.header_count, 6: 0x1000, 7: loader.base if loader else 0}
    auxiliary |= {9: image.entry, 11: 1000, 12: 1000, 13: 1000, 14: 1000, 17: 100, 23: 0, 25: random, 31: names[0], 0: 0}
    words = [len(names), *names, 0, *variables, 0]
    for key, value in auxiliary.items():
        words += [key, value]
    top = (top - 8 * len(words)) & ~0xF
    write(top, struct.pack(f"<{len(words)}Q", *words))
    return top


# For each system call that the machine's kernel answers, which of its arguments are pointers.
POINTERS = {
    0: (1,), 1: (1,), 3: (), 4: (0, 1), 5: (1,), 6: (0, 1), 8: (), 16: (2,), 17: (1,), 18: (1,), 21: (0,), 32: (), 33: (),
    39: (), 63: (0,), 72: (), 73: (), 74: (), 75: (), 76: (0,), 77: (), 79: (0,), 80: (0,), 82: (0, 1), 83: (0,), 84: (0,),
    87: (0,), 89: (0, 1), 90: (0,), 96: (0, 1), 98: (1,), 99: (0,), 102: (), 104: (), 107: (), 108: (), 201: (0,),
    204: (2,), 217: (1,), 228: (1,), 229: (1,), 230: (2, 3), 257: (1,), 258: (1,), 262: (1, 2), 263: (1,), 264: (1, 3),
    267: (1, 2), 268: (1,), 269: (1,), 285: (), 302: (2, 3), 318: (0,), 332: (1, 4), 439: (1,),
}  # fmt: skip
# Those without an effect where all pages are writable and no signal is sent: mprotect, sigaction, sigprocmask, madvise,
# sigaltstack, set_robust_list.
IGNORED = {10, 13, 14, 28, 131, 273}
GENERAL = "rax rbx rcx rdx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15".split()
VECTORS = 32


class Thread:
    """What a thread keeps while another one runs. All of them stand in SYSTEM_CALL then, so the instruction pointer is
    the same, and no mask register is in use."""

    def __init__(self, number):
        self.number = number
        self.waits_at = self.cleared_at = 0
        self.general, self.thread_pointer, self.mode = {}, 0, 0
        self.vectors = [(ctypes.c_uint64 * 8)() for _ in range(VECTORS)]

    def save(self, cpu):
        self.general = {name: getattr(cpu, name) for name in GENERAL}
        self.thread_pointer = cpu.fs.base
        self.mode = library.cpu_get_mxcsr(0)
        for i in range(VECTORS):
            library.cpu_get_zmm(0, i, self.vectors[i])

    def load(self, cpu):
        for name, value in self.general.items():
            setattr(cpu, name, value)
        cpu.fs = segment(0, 0xC0F3, self.thread_pointer)
        library.cpu_set_mxcsr(0, self.mode)
        for i in range(VECTORS):
            library.cpu_set_zmm(0, i, self.vectors[i])


class Process:
    def __init__(self, image):
        self.session = bochscpu.Session()
        self.session.missing_page_handler = self.missing_page
        self.first_break = self.end_of_data = pages(image.end)
        self.next_mapping = MAPPINGS
        self.status = None
        self.thread = Thread(os.getpid())
        self.threads = [self.thread]  # in the order in which they run
        self.last_number = self.thread.number

    @guarded
    def missing_page(self, address):
        if not NO_MEMORY_BELOW <= address < SIZE:
            self.report(f"no memory at {address:#x}")
        page = address & ~0xFFF
        bochscpu.memory.page_insert(page, BASE + page)

    @guarded
    def exception(self, _session, _cpu, vector, _code):
        self.report(f"exception {vector}")

    def report(self, what):
        at = self.session.cpu.rip
        bytes_there = read(at, 15).hex() if NO_MEMORY_BELOW <= at < SIZE else ""
        fail(EXCEPTION, f"{what} at {at:#x}: {bytes_there}")

    @guarded
    def system_call(self, *_):
        """Answers a system call; see SYSTEM_CALL in begin()."""
        cpu = self.session.cpu
        arguments = [cpu.rdi, cpu.rsi, cpu.rdx, cpu.r10, cpu.r8, cpu.r9]
        result = self.answer(cpu.rax, arguments)
        if result is not None:
            cpu.rax = result & 0xFFFFFFFFFFFFFFFF

    # --- threads ---

    def run_next(self):
        """Runs the next thread that does not wait. The current one has been saved, or has ended."""
        for i, thread in enumerate(self.threads):
            if thread.waits_at == 0:
                self.threads = self.threads[i:] + self.threads[:i]
                self.thread = thread
                thread.load(self.session.cpu)
                return
        fail(FAILED, "every thread waits")

    def give_way(self):
        self.session.cpu.rax = 0
        self.thread.save(self.session.cpu)
        self.threads = self.threads[1:] + self.threads[:1]
        self.run_next()

    def clone(self, flags, stack, parent_number_at, child_number_at, thread_pointer):
        THREAD, SET_POINTER, SET_PARENT, CLEAR_CHILD = 0x10000, 0x80000, 0x100000, 0x200000
        if not flags & THREAD or not flags & SET_POINTER:
            return NO_SUCH_CALL
        self.last_number += 1
        child = Thread(self.last_number)
        child.save(self.session.cpu)
        child.general |= {"rax": 0, "rsp": stack}
        child.thread_pointer = thread_pointer
        if flags & SET_PARENT:
            write(parent_number_at, struct.pack("<I", child.number))
        if flags & CLEAR_CHILD:
            child.cleared_at = child_number_at
        self.threads.append(child)
        return child.number

    def end_thread(self):
        self.threads.remove(self.thread)
        if self.thread.cleared_at:
            write(self.thread.cleared_at, struct.pack("<I", 0))
            self.wake(self.thread.cleared_at, 1)
        self.run_next()

    def wake(self, address, most):
        woken = [thread for thread in self.threads if thread.waits_at == address][:most]
        for thread in woken:
            thread.waits_at = 0
        return len(woken)

    def futex(self, address, operation, value):
        WAIT, WAKE, WAIT_BITS, WAKE_BITS, COMMAND = 0, 1, 9, 10, 0x7F
        if operation & COMMAND in (WAKE, WAKE_BITS):
            return self.wake(address, value)
        if operation & COMMAND not in (WAIT, WAIT_BITS):
            return NO_SUCH_CALL
        if struct.unpack("<I", read(address, 4))[0] != value & 0xFFFFFFFF:
            return TRY_AGAIN
        self.thread.waits_at = address
        self.give_way()
        return None

    # --- calls ---

    def answer(self, number, a):
        if number in POINTERS:
            return self.forward(number, a)
        if number in IGNORED:
            return 0
        if number == 9:
            return self.map(*a)
        if number == 11:  # munmap; the pages are given back and no address is used again
            libc.madvise(ctypes.c_void_p(BASE + a[0]), ctypes.c_size_t(a[1]), 4)
            return 0
        if number == 12:  # brk
            if self.first_break <= a[0] < LOADER:
                self.end_of_data = a[0]
            return self.end_of_data
        if number == 20:  # writev
            return self.write_parts(*a[:3])
        if number == 158:  # arch_prctl, ARCH_SET_FS
            if a[0] != 0x1002:
                return -22
            self.session.cpu.fs = segment(0, 0xC0F3, a[1])
            return 0
        if number == 24:  # sched_yield
            return self.give_way()
        if number == 56:
            return self.clone(*a[:5])
        if number == 60 and len(self.threads) > 1:
            return self.end_thread()
        if number in (60, 231):
            self.status = a[0] & 0xFF
            self.session.stop()
            return 0
        if number in (62, 200, 234):
            fail(128 + (a[2] if number == 234 else a[1]), "the program sent itself a signal")
        if number == 202:
            return self.futex(*a[:3])
        if number in (186, 218):  # gettid, set_tid_address
            return self.thread.number
        return NO_SUCH_CALL  # among them mremap, rseq and clone3, without which libc gets on

    def forward(self, number, a):
        words = [BASE + word if i in POINTERS[number] and word else word for i, word in enumerate(a)]
        ctypes.set_errno(0)
        result = libc.syscall(*[ctypes.c_long(word) for word in [number, *words]])
        return result if result != -1 else -ctypes.get_errno()

    def write_parts(self, file, parts, count):
        data = b""
        for i in range(count):
            data += read(*struct.unpack("<QQ", read(parts + 16 * i, 16)))
        return os.write(file, data)

    def map(self, address, count, _protection, flags, file, offset):
        FIXED, ANONYMOUS, SHARED = 0x10, 0x20, 1
        if flags & SHARED and not flags & ANONYMOUS:
            return NO_SUCH_CALL
        if not flags & FIXED:
            address = self.next_mapping
            self.next_mapping += pages(count)
        if address + count > SIZE:
            return NO_MEMORY
        if flags & FIXED:
            ctypes.memset(BASE + address, 0, count)
        if not flags & ANONYMOUS:
            libc.pread(file, ctypes.c_void_p(BASE + address), ctypes.c_size_t(count), ctypes.c_long(offset))
        return address

    def begin(self, entry, stack):
        """Sets the CPU as Linux leaves it to a program."""
        # One table of pages of 1 GiB each: present, writable, for users.
        write(TABLES, struct.pack("<Q", (TABLES + 0x1000) | 7))
        write(TABLES + 0x1000, struct.pack(f"<{SIZE // GIB}Q", *[i * GIB | 0x87 for i in range(SIZE // GIB)]))
        # Instruction SYSCALL jumps to WBINVD, for which Bochs calls us, and SYSRET.
        write(SYSTEM_CALL, b"\x0f\x09\x48\x0f\x07")
        state = bochscpu.State()
        state.cr0 = 0x80010033  # paging, write protection, native x87 errors, protected mode
        state.cr3 = TABLES
        state.cr4 = 0x406A0  # physical addresses of 64 bits, global pages, SSE and its exceptions, XSAVE
        state.efer = 0xD01  # long mode, SYSCALL, no-execute
        state.xcr0 = 0xE7  # x87, SSE, AVX, AVX-512
        state.fpcw, state.mxcsr, state.mxcsr_mask = 0x37F, 0x1F80, 0xFFFF
        state.cs = segment(0x33, 0xA0FB)
        state.ss = state.ds = state.es = segment(0x2B, 0xC0F3)
        state.fs = state.gs = segment(0, 0xC0F3)
        state.star = 0x23 << 48 | 0x10 << 32
        state.lstar = SYSTEM_CALL
        state.rip, state.rsp, state.rflags = entry, stack, 2
        self.session.cpu.state = state

    def run(self):
        hook = bochscpu.Hook()
        hook.cache_cntrl = self.system_call
        hook.exception = self.exception
        self.session.run([hook])
        return FAILED if self.status is None else self.status


def segment(selector, attributes, base=0):
    result = bochscpu.Segment()
    result.present, result.selector, result.base, result.limit, result.attr = True, selector, base, 0xFFFFFFFF, attributes
    return result


def choose_model():
    """The package has no function for the CPU model, but exports Bochs's own."""
    model = ctypes.c_void_p(library.sim_get_param_enum(b"cpu.model"))
    library._ZN14bx_param_num_c9set_rangeEmm(model, ctypes.c_long(SAPPHIRE_RAPIDS), ctypes.c_long(SAPPHIRE_RAPIDS))
    library._ZN14bx_param_num_c3setEl(model, ctypes.c_long(SAPPHIRE_RAPIDS))


def main():
    arguments = sys.argv[3:]
    choose_model()
    image = Image(arguments[0], PROGRAM)
    loader = Image(image.loader, LOADER) if image.loader else None
    process = Process(image)
    process.begin((loader or image).entry, build_stack(image, loader, arguments))
    os._exit(process.run())


main()
