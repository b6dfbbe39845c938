//! The attacks of the hostile program, with the guarantee that must deny each.

use std::fs::{self, File};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::thread;

use libc::c_long;
use rustix::process::{Resource, Rlimit, getppid, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

use super::system::{
    call, call_on, ignore_file_size_signal, makes_a_process, maps_memory, passes_filter, passes_filter_with,
};
use super::{Scene, WORKS};

/// One goal of a hostile program.
pub(super) struct Attack {
    /// The guarantee that denies it: a heading of the page.
    pub guarantee: Guarantee,
    /// Continues "a hostile program tries to".
    pub aim: &'static str,
    /// The calls that it uses, for readers.
    pub calls: &'static str,
    pub layer: Layer,
    /// Whether each attempt works without confinement, on every kernel and for every user. The kernel
    /// protects a server with capabilities from a child without them.
    pub always_works_unconfined: bool,
    pub attempts: &'static [&'static [Attempt]],
}

/// One way to reach the goal.
pub(super) struct Attempt {
    /// One word.
    pub name: &'static str,
    /// The attempted call, if the filter denies it as a whole: a test requires an attempt for each of them.
    pub call: Option<i64>,
    /// Returns whether it worked. An attempt that cannot return prints a line that begins with the text.
    pub run: fn(&Scene, &str) -> bool,
}

/// The parts of [`Confinement`](crate::Confinement) that a program can attack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Guarantee {
    Files,
    Network,
    Calls,
    Limits,
    /// None: the program needs it, or it is a known gap.
    None,
}

/// The layer without which an attack may work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layer {
    Landlock,
    Seccomp,
    /// Both layers deny it.
    Both,
    /// Limits and capabilities, which every kernel has.
    Process,
    /// It is allowed.
    None,
}

/// Attempts with calls whose arguments are wrong: whether the kernel checks them.
macro_rules! reach {
    ($($call:ident),* $(,)?) => {
        &[$(Attempt {
            name: stringify!($call),
            call: Some(libc::$call),
            run: |_, _| passes_filter(libc::$call),
        }),*]
    };
}

/// As `reach`, with the number of a call that libc does not define for each processor.
macro_rules! reach_number {
    ($($name:ident = $number:literal),* $(,)?) => {
        &[$(Attempt { name: stringify!($name), call: Some($number), run: |_, _| passes_filter($number) }),*]
    };
}

/// An attempt in ordinary code.
const fn attempt(name: &'static str, run: fn(&Scene, &str) -> bool) -> Attempt {
    Attempt { name, call: None, run }
}

/// An attempt with one call.
const fn attempt_with_call(name: &'static str, call: i64, run: fn(&Scene, &str) -> bool) -> Attempt {
    Attempt { name, call: Some(call), run }
}

/// In the order of the page. The last attack replaces the program itself.
pub(super) const ATTACKS: &[Attack] = &[
    Attack {
        guarantee: Guarantee::None,
        aim: "read the file of its job, and write the scratch file of its job",
        calls: "open, read, write",
        layer: Layer::None,
        always_works_unconfined: true,
        attempts: &[&[
            attempt("read", |scene, _| fs::read(scene.path("input")).is_ok()),
            attempt("write", |scene, _| fs::write(scene.path("output"), "made").is_ok()),
        ]],
    },
    Attack {
        guarantee: Guarantee::None,
        aim: "start threads",
        calls: "clone with CLONE_THREAD",
        layer: Layer::None,
        always_works_unconfined: true,
        attempts: &[&[attempt("thread", |_, _| {
            thread::Builder::new().spawn(|| {}).is_ok_and(|thread| thread.join().is_ok())
        })]],
    },
    Attack {
        guarantee: Guarantee::None,
        aim: "see that another file exists, its size and its times",
        calls: "stat",
        layer: Layer::None,
        always_works_unconfined: true,
        attempts: &[&[attempt("stat", |scene, _| fs::metadata(scene.path("secret")).is_ok())]],
    },
    Attack {
        guarantee: Guarantee::Files,
        aim: "read another file",
        calls: "open",
        layer: Layer::Landlock,
        always_works_unconfined: true,
        attempts: &[&[attempt("open", |scene, _| fs::read(scene.path("secret")).is_ok())]],
    },
    Attack {
        guarantee: Guarantee::Files,
        aim: "write into another file, or into the input of its job",
        calls: "open",
        layer: Layer::Landlock,
        always_works_unconfined: true,
        attempts: &[&[
            attempt("secret", |scene, _| File::options().append(true).open(scene.path("secret")).is_ok()),
            attempt("input", |scene, _| File::options().append(true).open(scene.path("input")).is_ok()),
        ]],
    },
    Attack {
        guarantee: Guarantee::Files,
        aim: "list a folder, or the processes of the machine",
        calls: "open, getdents64",
        layer: Layer::Landlock,
        always_works_unconfined: true,
        attempts: &[&[
            attempt("folder", |scene, _| fs::read_dir(&scene.folder).is_ok()),
            attempt("proc", |_, _| fs::read_dir("/proc").is_ok()),
        ]],
    },
    Attack {
        guarantee: Guarantee::Files,
        aim: "read the environment of the server, with its keys",
        calls: "open of /proc/PID/environ",
        layer: Layer::Landlock,
        always_works_unconfined: false,
        attempts: &[&[attempt("environ", |_, _| {
            getppid()
                .is_some_and(|server| fs::read(format!("/proc/{}/environ", server.as_raw_nonzero())).is_ok())
        })]],
    },
    Attack {
        guarantee: Guarantee::Files,
        aim: "make a file, a folder, a link or a named pipe",
        calls: "open, mkdir, symlink, link, mknod",
        layer: Layer::Landlock,
        always_works_unconfined: true,
        attempts: &[&[
            attempt("file", |scene, _| File::create_new(scene.path("made")).is_ok()),
            attempt("folder", |scene, _| fs::create_dir(scene.path("made folder")).is_ok()),
            attempt("symlink", |scene, _| symlink("/", scene.path("made symlink")).is_ok()),
            attempt("link", |scene, _| fs::hard_link(scene.path("output"), scene.path("made link")).is_ok()),
            attempt("pipe", |scene, _| {
                let arguments = [libc::AT_FDCWD.into(), (libc::S_IFIFO | 0o600).into(), 0];
                call_on(libc::SYS_mknodat, 1, &scene.path("made pipe"), &arguments)
            }),
        ]],
    },
    Attack {
        guarantee: Guarantee::Files,
        aim: "make a file in shared memory",
        calls: "open in /dev/shm",
        layer: Layer::Landlock,
        always_works_unconfined: false,
        attempts: &[&[attempt("shm", |scene, _| {
            let path = std::path::Path::new("/dev/shm").join(scene.folder.file_name().unwrap());
            File::create_new(&path).is_ok_and(|_| fs::remove_file(&path).is_ok())
        })]],
    },
    Attack {
        guarantee: Guarantee::Files,
        aim: "rename or remove a file or a folder",
        calls: "rename, unlink, rmdir",
        layer: Layer::Landlock,
        always_works_unconfined: true,
        attempts: &[&[
            attempt("rename", |scene, _| fs::rename(scene.path("renamed"), scene.path("away")).is_ok()),
            attempt("remove", |scene, _| fs::remove_file(scene.path("removed")).is_ok()),
            attempt("rmdir", |scene, _| fs::remove_dir(scene.path("empty")).is_ok()),
        ]],
    },
    Attack {
        guarantee: Guarantee::Files,
        aim: "empty a file that it may only read, or another one",
        calls: "open with O_TRUNC, openat2, truncate",
        layer: Layer::Seccomp,
        always_works_unconfined: false,
        attempts: &[&[
            attempt("O_TRUNC", |scene, _| {
                let arguments = [libc::AT_FDCWD.into(), libc::O_TRUNC.into()];
                call_on(libc::SYS_openat, 1, &scene.path("input"), &arguments)
            }),
            attempt("O_ACCMODE", |scene, _| {
                let arguments = [libc::AT_FDCWD.into(), (libc::O_TRUNC | libc::O_ACCMODE).into()];
                call_on(libc::SYS_openat, 1, &scene.path("input"), &arguments)
            }),
            attempt_with_call("openat2", libc::SYS_openat2, |scene, _| {
                let how: [u64; 3] = [libc::O_TRUNC.unsigned_abs().into(), 0, 0];
                let arguments = [libc::AT_FDCWD.into(), how.as_ptr() as c_long, 24];
                call_on(libc::SYS_openat2, 1, &scene.path("input"), &arguments)
            }),
            attempt_with_call("truncate", libc::SYS_truncate, |scene, _| {
                call_on(libc::SYS_truncate, 0, &scene.path("secret"), &[0])
            }),
        ]],
    },
    Attack {
        guarantee: Guarantee::Network,
        aim: "connect to a server by TCP, or wait for clients",
        calls: "socket, connect, bind, listen",
        layer: Layer::Seccomp,
        always_works_unconfined: false,
        attempts: &[&[
            attempt("connect", |scene, _| TcpStream::connect((Ipv4Addr::LOCALHOST, scene.tcp_port)).is_ok()),
            attempt("listen", |_, _| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).is_ok()),
        ]],
    },
    Attack {
        guarantee: Guarantee::Network,
        aim: "send a packet by UDP",
        calls: "socket, sendto",
        layer: Layer::Seccomp,
        always_works_unconfined: true,
        attempts: &[&[attempt("send", |scene, _| {
            UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))
                .is_ok_and(|socket| socket.send_to(b"secret", (Ipv4Addr::LOCALHOST, scene.udp_port)).is_ok())
        })]],
    },
    Attack {
        guarantee: Guarantee::Network,
        aim: "connect to a Unix socket",
        calls: "socket, connect",
        layer: Layer::Seccomp,
        always_works_unconfined: true,
        attempts: &[&[attempt("unix", |scene, _| UnixStream::connect(scene.path("socket")).is_ok())]],
    },
    Attack {
        guarantee: Guarantee::Network,
        aim: "use any other socket, or io_uring",
        calls: "socket, socketpair, connect, bind, listen, accept, accept4, sendto, io_uring_\\*",
        layer: Layer::Seccomp,
        always_works_unconfined: false,
        attempts: &[reach![
            SYS_socket,
            SYS_socketpair,
            SYS_connect,
            SYS_bind,
            SYS_listen,
            SYS_accept,
            SYS_accept4,
            SYS_sendto,
            SYS_io_uring_setup,
            SYS_io_uring_enter,
            SYS_io_uring_register,
        ]],
    },
    Attack {
        guarantee: Guarantee::Calls,
        aim: "start a process of its own",
        calls: "fork, vfork, clone without CLONE_THREAD, clone3",
        layer: Layer::Seccomp,
        always_works_unconfined: true,
        attempts: &[
            &[
                attempt("clone", |_, _| makes_a_process(libc::SYS_clone, &[libc::SIGCHLD.into()])),
                attempt_with_call("clone3", libc::SYS_clone3, |_, _| {
                    // Linux, include/uapi/linux/sched.h, `struct clone_args`: the fifth field is the signal
                    // of its end.
                    let how: [u64; 8] = [0, 0, 0, 0, libc::SIGCHLD.unsigned_abs().into(), 0, 0, 0];
                    makes_a_process(libc::SYS_clone3, &[how.as_ptr() as c_long, 64])
                }),
            ],
            #[cfg(target_arch = "x86_64")]
            &[
                attempt_with_call("fork", libc::SYS_fork, |_, _| makes_a_process(libc::SYS_fork, &[])),
                attempt_with_call("vfork", libc::SYS_vfork, |_, _| super::system::vfork_works()),
            ],
        ],
    },
    Attack {
        guarantee: Guarantee::Calls,
        aim: "share 512 MiB of memory, with a limit of 256 MiB",
        calls: "mmap with MAP_SHARED and MAP_ANONYMOUS",
        layer: Layer::Seccomp,
        always_works_unconfined: true,
        attempts: &[&[
            attempt("MAP_SHARED", |_, _| maps_memory(libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1)),
            attempt("MAP_SHARED_VALIDATE", |_, _| {
                let flags = libc::MAP_SHARED_VALIDATE | libc::MAP_ANONYMOUS;
                passes_filter_with(libc::SYS_mmap, &[0, 4096, 0, flags.into(), -1, 0])
            }),
        ]],
    },
    Attack {
        guarantee: Guarantee::Calls,
        aim: "share 512 MiB of /dev/zero",
        calls: "open, mmap with MAP_SHARED",
        layer: Layer::Both,
        always_works_unconfined: true,
        attempts: &[&[attempt("zero", |_, _| {
            File::options()
                .read(true)
                .write(true)
                .open("/dev/zero")
                .is_ok_and(|zero| maps_memory(libc::MAP_SHARED, zero.as_raw_fd()))
        })]],
    },
    Attack {
        guarantee: Guarantee::Calls,
        aim: "make a file in memory",
        calls: "memfd_create",
        layer: Layer::Seccomp,
        always_works_unconfined: true,
        attempts: &[&[attempt_with_call("memfd_create", libc::SYS_memfd_create, |_, _| {
            call(libc::SYS_memfd_create, &[c"memory".as_ptr() as c_long, 0]).is_ok()
        })]],
    },
    Attack {
        guarantee: Guarantee::Calls,
        aim: "make System V shared memory, which outlives it",
        calls: "shmget",
        layer: Layer::Seccomp,
        always_works_unconfined: true,
        attempts: &[&[attempt_with_call("shmget", libc::SYS_shmget, |_, _| {
            let made = call(libc::SYS_shmget, &[libc::IPC_PRIVATE.into(), 4096, 0o600]);
            made.is_ok_and(|id| call(libc::SYS_shmctl, &[id, libc::IPC_RMID.into(), 0]).is_ok())
        })]],
    },
    Attack {
        guarantee: Guarantee::Calls,
        aim: "use other shared memory, semaphores and queues",
        calls: "shm\\*, sem\\*, msg\\*, mq_\\*, memfd_secret",
        layer: Layer::Seccomp,
        always_works_unconfined: false,
        attempts: &[reach![
            SYS_shmat,
            SYS_shmdt,
            SYS_shmctl,
            SYS_semget,
            SYS_semop,
            SYS_semtimedop,
            SYS_semctl,
            SYS_msgget,
            SYS_msgsnd,
            SYS_msgrcv,
            SYS_msgctl,
            SYS_mq_open,
            SYS_mq_unlink,
            SYS_mq_timedsend,
            SYS_mq_timedreceive,
            SYS_mq_notify,
            SYS_mq_getsetattr,
            SYS_memfd_secret,
        ]],
    },
    Attack {
        guarantee: Guarantee::Calls,
        aim: "change the mode of another file",
        calls: "chmod, fchmod, fchmodat",
        layer: Layer::Seccomp,
        always_works_unconfined: true,
        attempts: &[
            &[
                attempt_with_call("fchmodat", libc::SYS_fchmodat, |scene, _| {
                    call_on(libc::SYS_fchmodat, 1, &scene.path("secret"), &[libc::AT_FDCWD.into(), 0o777])
                }),
                attempt_with_call("fchmod", libc::SYS_fchmod, |scene, _| {
                    let output = File::options().append(true).open(scene.path("output"));
                    output.is_ok_and(|output| {
                        call(libc::SYS_fchmod, &[output.as_raw_fd().into(), 0o777]).is_ok()
                    })
                }),
            ],
            #[cfg(target_arch = "x86_64")]
            &[attempt_with_call("chmod", libc::SYS_chmod, |scene, _| {
                call_on(libc::SYS_chmod, 0, &scene.path("secret"), &[0o777])
            })],
        ],
    },
    Attack {
        guarantee: Guarantee::Calls,
        aim: "change the owner of another file",
        calls: "chown, lchown, fchown, fchownat",
        layer: Layer::Seccomp,
        always_works_unconfined: true,
        attempts: &[
            &[
                attempt_with_call("fchownat", libc::SYS_fchownat, |scene, _| {
                    let arguments = [libc::AT_FDCWD.into(), -1, -1, 0];
                    call_on(libc::SYS_fchownat, 1, &scene.path("secret"), &arguments)
                }),
                attempt_with_call("fchown", libc::SYS_fchown, |scene, _| {
                    let output = File::options().append(true).open(scene.path("output"));
                    output.is_ok_and(|output| {
                        call(libc::SYS_fchown, &[output.as_raw_fd().into(), -1, -1]).is_ok()
                    })
                }),
            ],
            #[cfg(target_arch = "x86_64")]
            &[
                attempt_with_call("chown", libc::SYS_chown, |scene, _| {
                    call_on(libc::SYS_chown, 0, &scene.path("secret"), &[-1, -1])
                }),
                attempt_with_call("lchown", libc::SYS_lchown, |scene, _| {
                    call_on(libc::SYS_lchown, 0, &scene.path("secret"), &[-1, -1])
                }),
            ],
        ],
    },
    Attack {
        guarantee: Guarantee::Calls,
        aim: "change the times of another file",
        calls: "utime, utimes, futimesat, utimensat",
        layer: Layer::Seccomp,
        always_works_unconfined: true,
        attempts: &[
            &[attempt_with_call("utimensat", libc::SYS_utimensat, |scene, _| {
                call_on(libc::SYS_utimensat, 1, &scene.path("secret"), &[libc::AT_FDCWD.into(), 0, 0])
            })],
            #[cfg(target_arch = "x86_64")]
            &[
                attempt_with_call("utime", libc::SYS_utime, |scene, _| {
                    call_on(libc::SYS_utime, 0, &scene.path("secret"), &[0])
                }),
                attempt_with_call("utimes", libc::SYS_utimes, |scene, _| {
                    call_on(libc::SYS_utimes, 0, &scene.path("secret"), &[0])
                }),
                attempt_with_call("futimesat", libc::SYS_futimesat, |scene, _| {
                    call_on(libc::SYS_futimesat, 1, &scene.path("secret"), &[libc::AT_FDCWD.into(), 0])
                }),
            ],
        ],
    },
    Attack {
        guarantee: Guarantee::Calls,
        aim: "read or change extended attributes, flags and modes by other calls",
        calls: "\\*xattr, \\*xattrat, fchmodat2, file_getattr, file_setattr",
        layer: Layer::Seccomp,
        always_works_unconfined: false,
        attempts: &[
            reach![
                SYS_setxattr,
                SYS_lsetxattr,
                SYS_fsetxattr,
                SYS_removexattr,
                SYS_lremovexattr,
                SYS_fremovexattr,
                SYS_getxattr,
                SYS_lgetxattr,
                SYS_fgetxattr,
                SYS_listxattr,
                SYS_llistxattr,
                SYS_flistxattr,
            ],
            reach_number![
                fchmodat2 = 452,
                setxattrat = 463,
                getxattrat = 464,
                listxattrat = 465,
                removexattrat = 466,
                file_getattr = 468,
                file_setattr = 469,
            ],
        ],
    },
    Attack {
        guarantee: Guarantee::Calls,
        aim: "change flags of a file that it may only read, or seal it with verity",
        calls: "ioctl with FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR and FS_IOC_ENABLE_VERITY",
        layer: Layer::Seccomp,
        always_works_unconfined: false,
        attempts: &[&[
            attempt("FS_IOC_SETFLAGS", |scene, _| ioctl_passes_filter(scene, 0x4008_6602)),
            attempt("FS_IOC_FSSETXATTR", |scene, _| ioctl_passes_filter(scene, 0x401c_5820)),
            attempt("FS_IOC_ENABLE_VERITY", |scene, _| ioctl_passes_filter(scene, 0x4080_6685)),
        ]],
    },
    Attack {
        guarantee: Guarantee::Calls,
        aim: "send input to a terminal, or make any other request to a device",
        calls: "ioctl with TIOCSTI and other requests",
        layer: Layer::Seccomp,
        always_works_unconfined: false,
        attempts: &[&[
            attempt("TIOCSTI", |scene, _| ioctl_passes_filter(scene, 0x5412)),
            attempt("unknown", |scene, _| ioctl_passes_filter(scene, 0xffff_ffff)),
        ]],
    },
    Attack {
        guarantee: Guarantee::Calls,
        aim: "delay programs that open a file, or watch a folder",
        calls: "fcntl with F_SETLEASE and F_NOTIFY",
        layer: Layer::Seccomp,
        always_works_unconfined: false,
        attempts: &[&[
            attempt("F_SETLEASE", |_, _| passes_filter_with(libc::SYS_fcntl, &[-1, 1024, 0])),
            attempt("F_NOTIFY", |_, _| passes_filter_with(libc::SYS_fcntl, &[-1, 1026, 0])),
        ]],
    },
    Attack {
        guarantee: Guarantee::Calls,
        aim: "read the limits of the server",
        calls: "prlimit64",
        layer: Layer::Seccomp,
        always_works_unconfined: true,
        attempts: &[&[attempt("prlimit64", |_, _| {
            let mut limit = [0_u64; 2];
            let arguments = [server(), libc::RLIMIT_NOFILE as c_long, 0, limit.as_mut_ptr() as c_long];
            call(libc::SYS_prlimit64, &arguments).is_ok()
        })]],
    },
    Attack {
        guarantee: Guarantee::Calls,
        aim: "change the priority of the server",
        calls: "setpriority, ioprio_set, sched_setparam, sched_setscheduler",
        layer: Layer::Seccomp,
        always_works_unconfined: false,
        attempts: &[&[
            attempt("setpriority", |_, _| {
                // The result is 20 minus the niceness, which is set again.
                call(libc::SYS_getpriority, &[0, server()])
                    .is_ok_and(|priority| call(libc::SYS_setpriority, &[0, server(), 20 - priority]).is_ok())
            }),
            attempt("ioprio_set", |_, _| call(libc::SYS_ioprio_set, &[1, server(), 0]).is_ok()),
            attempt("sched_setparam", |_, _| {
                let priority = 0_i32;
                call(libc::SYS_sched_setparam, &[server(), (&raw const priority) as c_long]).is_ok()
            }),
            attempt("sched_setscheduler", |_, _| {
                let priority = 0_i32;
                let arguments = [server(), libc::SCHED_OTHER.into(), (&raw const priority) as c_long];
                call(libc::SYS_sched_setscheduler, &arguments).is_ok()
            }),
        ]],
    },
    Attack {
        guarantee: Guarantee::Calls,
        aim: "choose the processors of the server",
        calls: "sched_setaffinity, sched_setattr",
        layer: Layer::Seccomp,
        always_works_unconfined: false,
        attempts: &[&[
            attempt("sched_setaffinity", |_, _| {
                let mut processors = [0_u64; 128];
                let (size, at) = (1024, processors.as_mut_ptr() as c_long);
                call(libc::SYS_sched_getaffinity, &[server(), size, at])
                    .is_ok_and(|size| call(libc::SYS_sched_setaffinity, &[server(), size, at]).is_ok())
            }),
            attempt("sched_setattr", |_, _| passes_filter_with(libc::SYS_sched_setattr, &[server(), 0, 0])),
        ]],
    },
    Attack {
        guarantee: Guarantee::Calls,
        aim: "outlive the server",
        calls: "prctl with PR_SET_PDEATHSIG",
        layer: Layer::Seccomp,
        always_works_unconfined: true,
        attempts: &[&[attempt("PR_SET_PDEATHSIG", |_, _| {
            call(libc::SYS_prctl, &[libc::PR_SET_PDEATHSIG.into(), 0]).is_ok()
        })]],
    },
    Attack {
        guarantee: Guarantee::Calls,
        aim: "leave its process group or session",
        calls: "setsid, setpgid",
        layer: Layer::Seccomp,
        always_works_unconfined: false,
        attempts: &[reach![SYS_setsid, SYS_setpgid]],
    },
    Attack {
        guarantee: Guarantee::Calls,
        aim: "make namespaces, change its root or mount file systems",
        calls: "unshare, setns, clone with CLONE_NEW\\*, chroot, pivot_root, mount, umount2, open_tree, open_tree_attr, \
                move_mount, fsopen, fsconfig, fsmount, fspick, mount_setattr, open_by_handle_at",
        layer: Layer::Seccomp,
        always_works_unconfined: false,
        attempts: &[
            reach![
                SYS_unshare,
                SYS_setns,
                SYS_chroot,
                SYS_pivot_root,
                SYS_mount,
                SYS_umount2,
                SYS_open_tree,
                SYS_move_mount,
                SYS_fsopen,
                SYS_fsconfig,
                SYS_fsmount,
                SYS_fspick,
                SYS_mount_setattr,
                SYS_open_by_handle_at,
            ],
            reach_number![open_tree_attr = 467],
            &[attempt("clone", |_, _| {
                let namespaces = [
                    libc::CLONE_NEWNS,
                    libc::CLONE_NEWCGROUP,
                    libc::CLONE_NEWUTS,
                    libc::CLONE_NEWIPC,
                    libc::CLONE_NEWUSER,
                    libc::CLONE_NEWPID,
                    libc::CLONE_NEWNET,
                ];
                // A thread that shares no signal handlers, which no kernel creates.
                let is_made = |flag: libc::c_int| {
                    passes_filter_with(libc::SYS_clone, &[(flag | libc::CLONE_THREAD).into()])
                };
                namespaces.into_iter().any(is_made)
            })],
        ],
    },
    Attack {
        guarantee: Guarantee::Calls,
        aim: "read the mounts of the machine",
        calls: "statmount, listmount",
        layer: Layer::Seccomp,
        always_works_unconfined: false,
        attempts: &[reach_number![statmount = 457, listmount = 458]],
    },
    Attack {
        guarantee: Guarantee::Calls,
        aim: "have signals sent to the server",
        calls: "fcntl with F_SETOWN, F_SETOWN_EX and F_SETSIG",
        layer: Layer::Seccomp,
        always_works_unconfined: true,
        attempts: &[&[
            attempt("F_SETOWN", |scene, _| {
                let parent = std::os::unix::process::parent_id().into();
                fcntl_works(scene, libc::F_SETOWN.into(), parent)
            }),
            attempt("F_SETOWN_EX", |scene, _| {
                // Linux, include/uapi/asm-generic/fcntl.h, `struct f_owner_ex`: F_OWNER_PID and the process.
                let owner = [1_u32, std::os::unix::process::parent_id()];
                fcntl_works(scene, 15, owner.as_ptr() as c_long)
            }),
            attempt("F_SETSIG", |scene, _| fcntl_works(scene, 10, libc::SIGKILL.into())),
        ]],
    },
    Attack {
        guarantee: Guarantee::Calls,
        aim: "signal, read or write other processes",
        calls: "kill, tkill, tgkill, rt_sigqueueinfo, rt_tgsigqueueinfo, pidfd_\\*, process_\\*, ptrace, move_pages, \
                migrate_pages, kcmp",
        layer: Layer::Seccomp,
        always_works_unconfined: false,
        attempts: &[
            &[attempt_with_call("kill", libc::SYS_kill, |_, _| call(libc::SYS_kill, &[server(), 0]).is_ok())],
            reach![
                SYS_tkill,
                SYS_tgkill,
                SYS_rt_sigqueueinfo,
                SYS_rt_tgsigqueueinfo,
                SYS_pidfd_open,
                SYS_pidfd_getfd,
                SYS_pidfd_send_signal,
                SYS_process_madvise,
                SYS_process_mrelease,
                SYS_ptrace,
                SYS_process_vm_readv,
                SYS_process_vm_writev,
                SYS_move_pages,
                SYS_migrate_pages,
                SYS_kcmp,
            ],
        ],
    },
    Attack {
        guarantee: Guarantee::Calls,
        aim: "use keyrings and kernel interfaces with a history of holes",
        calls: "add_key, request_key, keyctl, bpf, perf_event_open, userfaultfd, inotify_init, fanotify_init",
        layer: Layer::Seccomp,
        always_works_unconfined: false,
        attempts: &[
            reach![
                SYS_add_key,
                SYS_request_key,
                SYS_keyctl,
                SYS_bpf,
                SYS_perf_event_open,
                SYS_userfaultfd,
                SYS_inotify_init1,
                SYS_fanotify_init,
            ],
            #[cfg(target_arch = "x86_64")]
            &[attempt_with_call("inotify_init", libc::SYS_inotify_init, |_, _| {
                call(libc::SYS_inotify_init, &[]).is_ok_and(|watch| call(libc::SYS_close, &[watch]).is_ok())
            })],
        ],
    },
    Attack {
        guarantee: Guarantee::Limits,
        aim: "have 512 MiB of memory, with a limit of 256 MiB",
        calls: "mmap",
        layer: Layer::Process,
        always_works_unconfined: true,
        attempts: &[&[attempt("mmap", |_, _| maps_memory(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1))]],
    },
    Attack {
        guarantee: Guarantee::Limits,
        aim: "write more into its scratch file than its limit",
        calls: "write",
        layer: Layer::Process,
        always_works_unconfined: true,
        attempts: &[&[attempt("write", |scene, _| {
            ignore_file_size_signal();
            let output = File::options().write(true).open(scene.path("output"));
            output.is_ok_and(|mut output| {
                output.seek(SeekFrom::Start(super::LIMITS.file_max)).is_ok()
                    && output.write_all(b"more").is_ok()
            })
        })]],
    },
    Attack {
        guarantee: Guarantee::Limits,
        aim: "open 100 files at once",
        calls: "open",
        layer: Layer::Process,
        always_works_unconfined: true,
        attempts: &[&[attempt("open", |scene, _| {
            let open = || File::options().read(true).open(scene.path("input"));
            (0..100).map(|_| open()).collect::<Result<Vec<_>, _>>().is_ok()
        })]],
    },
    Attack {
        guarantee: Guarantee::Limits,
        aim: "raise its limits, or gain a capability",
        calls: "setrlimit, capset",
        layer: Layer::Process,
        always_works_unconfined: false,
        attempts: &[&[
            attempt("setrlimit", |_, _| {
                setrlimit(Resource::Core, Rlimit { current: None, maximum: None }).is_ok()
            }),
            attempt("capset", |_, _| {
                let all = CapabilitySet::CHOWN;
                let none = CapabilitySet::empty();
                let sets = CapabilitySets { effective: all, permitted: all, inheritable: none };
                set_capabilities(None, sets).is_ok()
            }),
        ]],
    },
    Attack {
        guarantee: Guarantee::Files,
        aim: "become another program",
        calls: "execve",
        layer: Layer::Landlock,
        always_works_unconfined: true,
        attempts: &[&[attempt("execve", |_, line| {
            #[expect(clippy::disallowed_methods, reason = "this is what a hostile program tries")]
            let mut shell = std::process::Command::new("/bin/sh");
            let error = shell.args(["-c", "printf '%s\\n' \"$0\"", &format!("{line}{WORKS}")]).exec();
            let _ = error;
            false
        })]],
    },
];

/// Whether a request to the file of the job passes the filter. It has no argument and changes nothing.
fn ioctl_passes_filter(scene: &Scene, request: c_long) -> bool {
    let input = File::open(scene.path("input"));
    input.is_ok_and(|input| passes_filter_with(libc::SYS_ioctl, &[input.as_raw_fd().into(), request, -1]))
}

/// Whether a command of `fcntl` to the file of the job works.
fn fcntl_works(scene: &Scene, command: c_long, argument: c_long) -> bool {
    let input = File::open(scene.path("input"));
    input.is_ok_and(|input| call(libc::SYS_fcntl, &[input.as_raw_fd().into(), command, argument]).is_ok())
}

/// The process that started this one, as an argument of calls.
fn server() -> c_long {
    getppid().map_or(-1, |server| server.as_raw_nonzero().get().into())
}
