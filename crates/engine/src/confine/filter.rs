//! Which system calls a child may not make (seccomp).
//!
//! A list of what is forbidden, not of what is allowed: ffmpeg and its fifty libraries would need a long list that
//! breaks with every upgrade, and the rest of the cage does not depend on this one being complete. What is here
//! closes three holes the others leave: sockets of every kind (Landlock knows TCP, and only from 6.7 on), leaving the
//! process group that we kill, and touching other processes of the same user.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

/// A compiled filter.
pub(crate) type Filter = BpfProgram;

/// Making and using sockets; the ring makes them without the calls above it.
const NETWORK: [i64; 9] = [
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_sendto,
    libc::SYS_io_uring_setup,
];

/// Leaving the process group or the namespaces it was born in.
const ESCAPE: [i64; 6] = [
    libc::SYS_setsid,
    libc::SYS_setpgid,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_open_by_handle_at,
];

/// Signals to, memory of and secrets beside other processes.
const OTHERS: [i64; 11] = [
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_tgkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_pidfd_send_signal,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_keyctl,
    libc::SYS_bpf,
];

/// Set in the number of a call that uses the x32 convention: the same calls under other numbers.
/// Linux, arch/x86/include/uapi/asm/unistd.h, `__X32_SYSCALL_BIT`.
#[cfg(target_arch = "x86_64")]
const OTHER_CONVENTION: i64 = 0x4000_0000;
#[cfg(not(target_arch = "x86_64"))]
const OTHER_CONVENTION: i64 = 0;

/// Compiles the filter. `None` on processors seccompiler does not know.
pub(crate) fn build() -> Option<Filter> {
    let mut rules = BTreeMap::new();
    for call in NETWORK.into_iter().chain(ESCAPE).chain(OTHERS) {
        forbid(&mut rules, call, &[]);
    }
    // Asking for one's own limits (process 0) is what every C library does; those of others are not its business.
    forbid(
        &mut rules,
        libc::SYS_prlimit64,
        &[SeccompRule::new(vec![argument(0, SeccompCmpOp::Ne, 0)?]).ok()?],
    );
    // The child must not undo that it ends with us.
    let undo = u64::try_from(libc::PR_SET_PDEATHSIG).ok()?;
    forbid(
        &mut rules,
        libc::SYS_prctl,
        &[SeccompRule::new(vec![argument(0, SeccompCmpOp::Eq, undo)?]).ok()?],
    );

    let refuse = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let processor = std::env::consts::ARCH.try_into().ok()?;
    SeccompFilter::new(rules, SeccompAction::Allow, refuse, processor).ok()?.try_into().ok()
}

/// Forbids `call` where one of `conditions` holds, or always where there are none, under both of its numbers.
fn forbid(rules: &mut BTreeMap<i64, Vec<SeccompRule>>, call: i64, conditions: &[SeccompRule]) {
    rules.insert(call, conditions.to_vec());
    rules.insert(call | OTHER_CONVENTION, conditions.to_vec());
}

fn argument(index: u8, is: SeccompCmpOp, value: u64) -> Option<SeccompCondition> {
    SeccompCondition::new(index, SeccompCmpArgLen::Dword, is, value).ok()
}
