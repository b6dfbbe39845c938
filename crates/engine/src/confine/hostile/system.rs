//! System calls of the hostile program, made directly: a C library would use others, or reject them itself.

#![expect(unsafe_code, reason = "system calls with arguments that no safe wrapper passes on")]

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use libc::{c_int, c_long};

/// Makes a system call; missing arguments are 0. Pointers must be valid for what the call does with them, or
/// invalid everywhere, such as -1.
pub(super) fn call(number: i64, arguments: &[c_long]) -> io::Result<c_long> {
    let at = |index: usize| arguments.get(index).copied().unwrap_or(0);
    // SAFETY: callers pass pointers to memory that outlives the call, or an unmapped address, for which the
    // kernel returns EFAULT.
    let answer = unsafe { libc::syscall(number, at(0), at(1), at(2), at(3), at(4), at(5)) };
    if answer == -1 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

/// Whether a call passes the filter, and this kernel has it. Its arguments, all -1, are wrong: it changes
/// nothing.
pub(super) fn passes_filter(number: i64) -> bool {
    passes_filter_with(number, &[-1; 6])
}

/// As [`reaches`], with arguments.
pub(super) fn passes_filter_with(number: i64, arguments: &[c_long]) -> bool {
    const DENIED_ERRNOS: [c_int; 3] = [libc::EPERM, libc::EACCES, libc::ENOSYS];
    let answer = call(number, arguments);
    answer.is_ok_and(|_| true) || !is_one_of(&DENIED_ERRNOS)
}

/// Whether the last call of this thread failed with one of these errors.
fn is_one_of(errors: &[c_int]) -> bool {
    io::Error::last_os_error().raw_os_error().is_some_and(|error| errors.contains(&error))
}

/// Makes a call on a path, which is the argument at `index`.
pub(super) fn call_on(number: i64, index: usize, path: &Path, arguments: &[c_long]) -> bool {
    let path = CString::new(path.as_os_str().as_bytes()).unwrap();
    let mut arguments = arguments.to_vec();
    arguments.insert(index, path.as_ptr() as c_long);
    call(number, &arguments).is_ok()
}

/// Whether a call creates a process. A new process ends at once and is reaped.
pub(super) fn makes_a_process(number: i64, arguments: &[c_long]) -> bool {
    match call(number, arguments) {
        // SAFETY: the new process ends without running code of this one.
        Ok(0) => unsafe { libc::_exit(0) },
        Ok(process) => reap(process),
        Err(_) => false,
    }
}

fn reap(process: c_long) -> bool {
    // SAFETY: no memory is passed.
    unsafe { libc::waitpid(process as c_int, std::ptr::null_mut(), 0) };
    true
}

/// The process of `vfork` uses the stack of this one, so it ends before it touches that.
#[cfg(target_arch = "x86_64")]
pub(super) fn vfork_works() -> bool {
    let answer: c_long;
    // SAFETY: the new process exits with its next call and uses no stack. `syscall` overwrites rcx and r11.
    unsafe {
        std::arch::asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "mov eax, {exit}",
            "xor edi, edi",
            "syscall",
            "2:",
            exit = const libc::SYS_exit,
            inlateout("rax") libc::SYS_vfork => answer,
            lateout("rdi") _,
            lateout("rcx") _,
            lateout("r11") _,
        );
    }
    answer > 0 && reap(answer)
}

/// Larger than the memory limit of the program.
pub(super) const LARGE_BYTES: usize = 512 << 20;

/// Whether this much memory can be mapped.
pub(super) fn maps_memory(flags: c_int, fd: c_int) -> bool {
    const ACCESS: c_int = libc::PROT_READ | libc::PROT_WRITE;
    let arguments = [0, LARGE_BYTES as c_long, ACCESS.into(), flags.into(), fd.into(), 0];
    match call(libc::SYS_mmap, &arguments) {
        Ok(address) => call(libc::SYS_munmap, &[address, LARGE_BYTES as c_long]).is_ok(),
        Err(_) => false,
    }
}

/// Ignores the signal that ends a program whose file exceeds its limit; the write fails instead.
pub(super) fn ignore_file_size_signal() {
    // SAFETY: no handler runs.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Whether the kernel enforces Landlock rules: it then returns a version number.
pub(super) fn has_landlock() -> bool {
    const VERSION: c_long = 1;
    call(libc::SYS_landlock_create_ruleset, &[0, 0, VERSION]).is_ok()
}
