//! What a child does for itself between fork and exec. The only unsafe code of the workspace's engine.

#![expect(unsafe_code, reason = "`pre_exec` is the only way to limit a child before its program starts")]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;

use rustix::process::{
    Resource, Rlimit, Signal, getpid, getppid, set_parent_process_death_signal, setrlimit,
};

use crate::confine::filter::Filter;

/// Lets the child of `command` limit itself before its program starts.
///
/// Must be called on the thread that will start it, and that thread must live as long as the child: the kernel sends
/// the signal of the parent's death when the *thread* ends that forked (prctl(2), PR_SET_PDEATHSIG).
pub(crate) fn before_exec(
    command: &mut Command,
    limits: [(Resource, Rlimit); 6],
    filter: Option<Arc<Filter>>,
) {
    let server = getpid();
    let enter = move || {
        // kill -9 of the server takes the child along. If the server died before this line, its signal never comes.
        set_parent_process_death_signal(Some(Signal::KILL))?;
        if getppid() != Some(server) {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        for (resource, limit) in &limits {
            setrlimit(*resource, *limit)?;
        }
        close_on_exec();
        // Last, for it forbids some of what came before.
        for filter in filter.iter().flat_map(|filters| filters.iter()) {
            seccompiler::apply_filter(filter).or_else(unless_unknown)?;
        }
        Ok(())
    };
    // SAFETY: the closure runs in the forked child of a process with many threads, where only what is safe in a
    // signal handler may happen: no lock, no allocation. It makes plain system calls (rustix calls the kernel directly;
    // `apply_filter` makes two calls and reads a slice) on values that were made before the fork, and its errors hold
    // nothing but a number. It frees nothing: what it captured is dropped by the parent, or vanishes with exec.
    unsafe { command.pre_exec(enter) };
}

/// Closes at exec all that was open beside the standard streams: also what the server itself was born with, which
/// nobody marked. Kernels before 5.11 do not know the flag; there, what Rust opened is marked all the same.
fn close_on_exec() {
    const FIRST: libc::c_uint = 3;
    // SAFETY: a system call on numbers only. It marks descriptors and closes none now, so the one over which the standard
    // library reports a failed exec stays usable.
    unsafe { libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
}

/// A kernel without filters starts the child without one, and the report says so. Anything else stops the start.
fn unless_unknown(error: seccompiler::Error) -> io::Result<()> {
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
