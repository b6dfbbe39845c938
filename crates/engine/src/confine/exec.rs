//! The steps of a child between fork and exec. The only unsafe code of the engine outside its tests.

#![expect(unsafe_code, reason = "`pre_exec` is the only way to limit a child before its program starts")]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;

use rustix::process::{
    Resource, Rlimit, Signal, getpid, getppid, set_parent_process_death_signal, setrlimit,
};

use crate::confine::filter::SeccompFilters;

/// Lets the child of `command` limit itself before its program starts.
///
/// Must be called on the thread that will start it, and that thread must live as long as the child: the
/// kernel sends the signal of the parent's death when the *thread* ends that forked (prctl(2),
/// PR_SET_PDEATHSIG).
pub(crate) fn confine_before_exec(
    command: &mut Command,
    limits: [(Resource, Rlimit); 6],
    filter: Option<Arc<SeccompFilters>>,
) {
    let server = getpid();
    let confine_child = move || {
        // SIGKILL of the server also kills the child. If the server died before this line, the signal never
        // comes.
        set_parent_process_death_signal(Some(Signal::KILL))?;
        if getppid() != Some(server) {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        for (resource, limit) in &limits {
            setrlimit(*resource, *limit)?;
        }
        close_on_exec();
        // Last, because the filters deny some of the calls above.
        for filter in filter.iter().flat_map(|filters| filters.iter()) {
            seccompiler::apply_filter(filter).or_else(ignore_unsupported)?;
        }
        Ok(())
    };
    // SAFETY: the closure runs in the forked child of a process with many threads, where only operations
    // that are safe in a signal handler are allowed: no lock, no allocation. It makes plain system calls
    // (rustix calls the kernel directly; `apply_filter` makes two calls and reads a slice) on values that
    // were made before the fork, and its errors contain only a number. It frees nothing: its captures are
    // dropped by the parent, or vanish with exec.
    unsafe { command.pre_exec(confine_child) };
}

/// Marks all descriptors except the standard streams to close at exec. That includes inherited ones without
/// the mark. Kernels before 5.11 lack the flag; there, Rust has still marked all that it opened.
fn close_on_exec() {
    const FIRST: libc::c_uint = 3;
    // SAFETY: a system call on numbers only. It marks descriptors and closes none now, so the one over which
    // the standard library reports a failed exec stays usable.
    unsafe { libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
}

/// Ignores the error of a kernel without seccomp: the child starts without filters, and the confinement
/// report (`report.rs`) states it. Any other error stops the start.
fn ignore_unsupported(error: seccompiler::Error) -> io::Result<()> {
    match error {
        seccompiler::Error::Seccomp(cause)
            if matches!(cause.raw_os_error(), Some(libc::ENOSYS | libc::EINVAL)) =>
        {
            Ok(())
        }
        seccompiler::Error::Seccomp(cause) | seccompiler::Error::Prctl(cause) => Err(cause),
        _ => Err(io::Error::from_raw_os_error(libc::EINVAL)),
    }
}

/// Calls that the filter denies, with arguments that change nothing on a kernel that allows them.
const PROBE_CALLS: [(&str, i64, [libc::c_long; 4], libc::c_int); 10] = [
    ("socket", libc::SYS_socket, [-1, -1, -1, 0], libc::EPERM),
    ("fchmod", libc::SYS_fchmod, [-1, 0, 0, 0], libc::EPERM),
    ("ioctl", libc::SYS_ioctl, [-1, -1, 0, 0], libc::EPERM),
    ("memfd_create", libc::SYS_memfd_create, [0, -1, 0, 0], libc::EPERM),
    ("shmget", libc::SYS_shmget, [0, 0, 0, 0], libc::EPERM),
    ("keyctl", libc::SYS_keyctl, [-1, 0, 0, 0], libc::EPERM),
    ("ptrace", libc::SYS_ptrace, [-1, -1, 0, 0], libc::EPERM),
    // The kernel creates no process with shared signal handlers but separate memory.
    ("clone", libc::SYS_clone, [libc::CLONE_SIGHAND as libc::c_long, 0, 0, 0], libc::EPERM),
    ("clone3", libc::SYS_clone3, [0, 0, 0, 0], libc::ENOSYS),
    ("mmap", libc::SYS_mmap, [0, 4096, 0, SHARED_MEMORY as libc::c_long], libc::EPERM),
];
const SHARED_MEMORY: libc::c_int = libc::MAP_SHARED | libc::MAP_ANONYMOUS;

/// Base of the error numbers of a probe: none of the system's error numbers is as large.
const PROBE_ERROR_BASE: i32 = 1 << 16;

/// Makes the child of `command` try calls that the filter denies, and end. Must follow
/// [`confine_before_exec`].
///
/// The start then fails, and [`first_allowed`] reads the result from the error.
pub(crate) fn probe_calls(command: &mut Command) {
    let probe = || {
        let is_allowed = |(_, number, [a, b, c, d], expected): &(&str, i64, [libc::c_long; 4], i32)| {
            // SAFETY: a system call on numbers only. None of those in the table reads or writes memory.
            let answer = unsafe { libc::syscall(*number, *a, *b, *c, *d, -1 as libc::c_long, 0) };
            answer != -1 || io::Error::last_os_error().raw_os_error() != Some(*expected)
        };
        let first = PROBE_CALLS.iter().position(is_allowed).unwrap_or(PROBE_CALLS.len());
        let offset = i32::try_from(first).unwrap_or(i32::MAX - PROBE_ERROR_BASE);
        Err(io::Error::from_raw_os_error(PROBE_ERROR_BASE + offset))
    };
    // SAFETY: as above: plain system calls, and errors that contain only a number.
    unsafe { command.pre_exec(probe) };
}

/// The result of [`probe_calls`]: the first call that was allowed, `None` if all were denied.
///
/// Errors: `error` itself if it is another one, so that nothing was tried.
pub(crate) fn first_allowed(error: io::Error) -> io::Result<Option<&'static str>> {
    let offset = error.raw_os_error().and_then(|number| usize::try_from(number - PROBE_ERROR_BASE).ok());
    match offset {
        Some(index) if index == PROBE_CALLS.len() => Ok(None),
        Some(tried) => PROBE_CALLS.get(tried).map(|(name, ..)| Some(*name)).ok_or(error),
        None => Err(error),
    }
}
