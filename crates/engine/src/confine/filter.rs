//! The system calls that a child may not make (seccomp).
//!
//! A deny list: ffmpeg and its fifty libraries would need a long allow list that breaks with each upgrade. It
//! closes the gaps of the other layers:
//!
//! | Gap | Example |
//! |---|---|
//! | sockets | Landlock restricts TCP only, and only from Linux 6.7 on |
//! | file attributes | Landlock restricts no `chmod`, `chown` or `setxattr` |
//! | flags of files | `ioctl` changes them through a descriptor that may only read |
//! | memory | limits are for each process and do not count shared memory |
//! | other processes | signals, `ptrace` and priorities of the same user |
//!
//! A denied call fails with EPERM. Two calls return ENOSYS, so that a C library uses the older call, which
//! the filter can check. D-0107.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

/// Two compiled filters: calls that fail with EPERM, and calls that return ENOSYS.
pub(crate) type SeccompFilters = [BpfProgram; 2];

/// Sockets. io_uring can create them too, and open files, without the calls above it.
const NETWORK: &[i64] = &[
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_sendto,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

/// The process group, which the engine kills; namespaces; mounts; file handles, which skip the path.
const ESCAPE: &[i64] = &[
    libc::SYS_setsid,
    libc::SYS_setpgid,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_chroot,
    libc::SYS_pivot_root,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_open_tree,
    OPEN_TREE_ATTR,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    STATMOUNT,
    LISTMOUNT,
    libc::SYS_open_by_handle_at,
];

/// Signals to other processes, their memory, files and pages; keyrings and kernel interfaces that watch them.
const OTHER_PROCESSES: &[i64] = &[
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_tgkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_send_signal,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
    libc::SYS_kcmp,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    // They report changes of files that a child cannot open.
    libc::SYS_inotify_init1,
    libc::SYS_fanotify_init,
];

/// Mode, owner, times and extended attributes of files, which Landlock does not restrict, and `truncate`,
/// which it restricts from Linux 6.2 on.
const ATTRIBUTES: &[i64] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    libc::SYS_getxattr,
    libc::SYS_lgetxattr,
    libc::SYS_fgetxattr,
    libc::SYS_listxattr,
    libc::SYS_llistxattr,
    libc::SYS_flistxattr,
    SETXATTRAT,
    GETXATTRAT,
    LISTXATTRAT,
    REMOVEXATTRAT,
    FILE_GETATTR,
    FILE_SETATTR,
    libc::SYS_truncate,
];

/// System V and POSIX memory, semaphores and queues: other processes see them, and they outlive the child.
/// Files in memory, which no limit counts.
const SHARED: &[i64] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmdt,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_mq_timedsend,
    libc::SYS_mq_timedreceive,
    libc::SYS_mq_notify,
    libc::SYS_mq_getsetattr,
    libc::SYS_memfd_create,
    libc::SYS_memfd_secret,
];

/// Older calls with the same effect, which only x86-64 has.
#[cfg(target_arch = "x86_64")]
const LEGACY_CALLS: &[i64] = &[
    libc::SYS_fork,
    libc::SYS_vfork,
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
    libc::SYS_inotify_init,
];
#[cfg(not(target_arch = "x86_64"))]
const LEGACY_CALLS: &[i64] = &[];

/// Calls that read their flags from memory, which a filter cannot see. The C library falls back to `clone`
/// and `openat`.
const ENOSYS_CALLS: &[i64] = &[libc::SYS_clone3, libc::SYS_openat2];

/// Call numbers that all processors share (Linux, scripts/syscall.tbl) and that libc does not define for
/// each of them.
const FCHMODAT2: i64 = 452;
const STATMOUNT: i64 = 457;
const LISTMOUNT: i64 = 458;
const SETXATTRAT: i64 = 463;
const GETXATTRAT: i64 = 464;
const LISTXATTRAT: i64 = 465;
const REMOVEXATTRAT: i64 = 466;
const OPEN_TREE_ATTR: i64 = 467;
const FILE_GETATTR: i64 = 468;
const FILE_SETATTR: i64 = 469;

/// Commands of `fcntl` that libc does not define. Linux, include/uapi/asm-generic/fcntl.h.
const F_SETSIG: libc::c_int = 10;
const F_SETOWN_EX: libc::c_int = 15;
const F_SETLEASE: libc::c_int = 1024;
const F_NOTIFY: libc::c_int = 1026;

/// Requests of `ioctl` that ffmpeg and C libraries make: whether it is a terminal and its width, the number
/// of readable bytes, flags of the descriptor itself. Linux, include/uapi/asm-generic/ioctls.h: TCGETS,
/// TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX, TCGETS2.
const IOCTLS: [u64; 7] = [0x5401, 0x5413, 0x541b, 0x5421, 0x5450, 0x5451, 0x802c_542a];

/// Flags of `clone` that create a namespace. Linux, include/uapi/linux/sched.h.
const NEW_NAMESPACES: [libc::c_int; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// Set in the number of a call that uses the x32 convention: the same calls under other numbers.
/// Linux, arch/x86/include/uapi/asm/unistd.h, `__X32_SYSCALL_BIT`.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;
#[cfg(not(target_arch = "x86_64"))]
const X32: i64 = 0;

/// Denied calls for which x32 has a number of its own: ioctl, ptrace, rt_sigqueueinfo, mq_notify,
/// move_pages, rt_tgsigqueueinfo, process_vm_readv and process_vm_writev. Linux,
/// arch/x86/entry/syscalls/syscall_64.tbl.
#[cfg(target_arch = "x86_64")]
const X32_ONLY: &[i64] = &[514, 521, 524, 527, 533, 536, 539, 540];
#[cfg(not(target_arch = "x86_64"))]
const X32_ONLY: &[i64] = &[];

/// Compiles the filters. `None` on processors that seccompiler does not support.
pub(crate) fn build() -> Option<SeccompFilters> {
    let (mut denied, mut enosys) = (BTreeMap::new(), BTreeMap::new());
    for call in denied_calls() {
        deny(&mut denied, call, &[]);
    }
    for call in X32_ONLY {
        denied.insert(call | X32, Vec::new());
    }
    for (call, conditions) in conditionally_denied_calls()? {
        deny(&mut denied, call, &conditions);
    }
    for call in ENOSYS_CALLS {
        deny(&mut enosys, *call, &[]);
    }
    Some([compile(denied, libc::EPERM)?, compile(enosys, libc::ENOSYS)?])
}

/// Calls that fail with EPERM for any arguments.
pub(super) fn denied_calls() -> Vec<i64> {
    [NETWORK, ESCAPE, OTHER_PROCESSES, ATTRIBUTES, SHARED, LEGACY_CALLS].concat()
}

/// Calls that return ENOSYS.
#[cfg(test)]
pub(super) fn enosys_calls() -> &'static [i64] {
    ENOSYS_CALLS
}

/// Calls that fail with EPERM if one of these conditions is true.
fn conditionally_denied_calls() -> Option<Vec<(i64, Vec<SeccompRule>)>> {
    let mut rules = Vec::new();
    // C libraries read and lower the limits of their own process, number 0.
    rules.push((libc::SYS_prlimit64, vec![when(0, SeccompCmpOp::Ne, 0)?]));
    // The same for priorities and processors. A library that pins a thread by its number is denied too; the
    // thread then runs on any processor.
    for call in [
        libc::SYS_sched_setaffinity,
        libc::SYS_sched_setscheduler,
        libc::SYS_sched_setparam,
        libc::SYS_sched_setattr,
    ] {
        rules.push((call, vec![when(0, SeccompCmpOp::Ne, 0)?]));
    }
    for (call, own_process) in [(libc::SYS_setpriority, 0), (libc::SYS_ioprio_set, 1)] {
        let conditions = vec![when(0, SeccompCmpOp::Ne, own_process)?, when(1, SeccompCmpOp::Ne, 0)?];
        rules.push((call, conditions));
    }
    // The child ends with the server and must not be able to undo that.
    rules.push((libc::SYS_prctl, vec![when(0, SeccompCmpOp::Eq, bits(libc::PR_SET_PDEATHSIG)?)?]));
    // Allows threads, but no processes: limits of memory and processor time apply to each process.
    let mut clone = vec![when(0, SeccompCmpOp::MaskedEq(bits(libc::CLONE_THREAD)?), 0)?];
    for namespace in NEW_NAMESPACES {
        let namespace = bits(namespace)?;
        clone.push(when(0, SeccompCmpOp::MaskedEq(namespace), namespace)?);
    }
    rules.push((libc::SYS_clone, clone));
    // No limit counts shared memory. MAP_SHARED_VALIDATE has the bit of MAP_SHARED. Mappings of files are
    // denied too: /dev/zero is memory, and C libraries read a file that they cannot map.
    let shared = bits(libc::MAP_SHARED)?;
    rules.push((libc::SYS_mmap, vec![when(3, SeccompCmpOp::MaskedEq(shared), shared)?]));
    // A file opened for reading can be truncated at the open: before Linux 6.2 Landlock allows it. So can
    // one opened for neither reading nor writing, the fourth access mode: open(2).
    let accesses = bits(libc::O_TRUNC | libc::O_ACCMODE)?;
    let read_and_truncate = bits(libc::O_TRUNC | libc::O_RDONLY)?;
    let neither = bits(libc::O_ACCMODE)?;
    for (call, flags) in OPEN_CALLS {
        let conditions = vec![
            when(*flags, SeccompCmpOp::MaskedEq(accesses), read_and_truncate)?,
            when(*flags, SeccompCmpOp::MaskedEq(neither), neither)?,
        ];
        rules.push((*call, conditions));
    }
    // The owner of a file gets a signal on its events: any signal, and before Linux 6.12 any process can be
    // the owner. An open of a file under a lease waits for the lease holder, up to 45 s.
    let mut commands = Vec::new();
    for command in [libc::F_SETOWN, F_SETSIG, F_SETOWN_EX, F_SETLEASE, F_NOTIFY] {
        commands.push(when(1, SeccompCmpOp::Eq, bits(command)?)?);
    }
    rules.push((libc::SYS_fcntl, commands));
    // File systems and devices have countless requests: some change a file that is open for reading.
    let not_one_of: Option<Vec<_>> =
        IOCTLS.iter().map(|request| condition(1, SeccompCmpOp::Ne, *request)).collect();
    rules.push((libc::SYS_ioctl, vec![SeccompRule::new(not_one_of?).ok()?]));
    Some(rules)
}

/// The calls that open a file, with the index of the argument with the flags.
#[cfg(target_arch = "x86_64")]
const OPEN_CALLS: &[(i64, u8)] = &[(libc::SYS_openat, 2), (libc::SYS_open, 1)];
#[cfg(not(target_arch = "x86_64"))]
const OPEN_CALLS: &[(i64, u8)] = &[(libc::SYS_openat, 2)];

fn bits(flags: libc::c_int) -> Option<u64> {
    u64::try_from(flags).ok()
}

fn compile(rules: BTreeMap<i64, Vec<SeccompRule>>, errno: libc::c_int) -> Option<BpfProgram> {
    let deny_action = SeccompAction::Errno(errno.unsigned_abs());
    let processor = std::env::consts::ARCH.try_into().ok()?;
    SeccompFilter::new(rules, SeccompAction::Allow, deny_action, processor).ok()?.try_into().ok()
}

/// A condition on the 32 bits of argument `index` that the kernel reads.
fn when(index: u8, comparison: SeccompCmpOp, value: u64) -> Option<SeccompRule> {
    SeccompRule::new(vec![condition(index, comparison, value)?]).ok()
}

fn condition(index: u8, comparison: SeccompCmpOp, value: u64) -> Option<SeccompCondition> {
    SeccompCondition::new(index, SeccompCmpArgLen::Dword, comparison, value).ok()
}

/// Denies `call` if one of `conditions` is true, or always if there are none, under both of its numbers.
fn deny(rules: &mut BTreeMap<i64, Vec<SeccompRule>>, call: i64, conditions: &[SeccompRule]) {
    rules.insert(call, conditions.to_vec());
    rules.insert(call | X32, conditions.to_vec());
}
