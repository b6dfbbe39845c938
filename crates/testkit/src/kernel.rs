//! A simulated kernel without some system calls.

use std::collections::BTreeMap;
use std::thread;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};

/// Runs `work` on a thread whose system calls in `calls` fail with ENOSYS. Its threads and processes inherit
/// that.
pub fn on_kernel_without<T: Send + 'static>(calls: &[i64], work: impl FnOnce() -> T + Send + 'static) -> T {
    let rules: BTreeMap<_, _> = calls.iter().map(|call| (*call, Vec::new())).collect();
    let missing = SeccompAction::Errno(libc::ENOSYS.unsigned_abs());
    let processor = std::env::consts::ARCH.try_into().expect("seccompiler knows the processor");
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, missing, processor);
    let filter: BpfProgram = filter.and_then(TryInto::try_into).expect("a list of numbers makes a filter");
    let restricted = move || {
        seccompiler::apply_filter(&filter).expect("the kernel accepts filters");
        work()
    };
    thread::spawn(restricted).join().expect("the work does not panic")
}
