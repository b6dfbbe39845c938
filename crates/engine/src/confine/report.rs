//! What of the cage is really in force, measured with real children.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use rustix::process::Pid;

use crate::child::Child;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::input::read_mp4_from_stdin;
use crate::job::{Files, Job, Limits, push, quiet};
use crate::priority::Priority;

/// What one measurement may use.
const MEASURING: Limits = Limits {
    deadline: Duration::from_secs(20),
    cpu: Duration::from_secs(10),
    memory_bytes: 256 << 20,
    output_max: 1 << 10,
    file_max: 0,
};

/// Content of the file a child must not read. Read as raw sound, it comes out as it went in.
const CANARY: &[u8; 32] = b"kinora: only for its own process";

/// Whether one part of the cage holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Guard {
    /// It was tried and it holds.
    InForce,
    /// It does not hold, for this reason. A sentence for the operator.
    Absent(String),
}

/// The cage as a child really has it. Each part was tried on a child of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confinement {
    /// A child reads no file but its own (Landlock).
    pub files: Guard,
    /// A child neither connects nor sends (seccomp for every socket, Landlock for TCP).
    pub network: Guard,
    /// A child has no capability and can gain none.
    pub privileges: Guard,
    /// A child's memory, processor time, files and core dumps are limited.
    pub limits: Guard,
    /// A child leads its own process group, so that nothing of it outlives a job.
    pub group: Guard,
}

impl Confinement {
    /// The parts with their names, in a fixed order.
    pub fn parts(&self) -> [(&'static str, &Guard); 5] {
        [
            ("files", &self.files),
            ("network", &self.network),
            ("privileges", &self.privileges),
            ("limits", &self.limits),
            ("group", &self.group),
        ]
    }

    /// Whether every part holds.
    pub fn is_complete(&self) -> bool {
        self.parts().iter().all(|(_, guard)| **guard == Guard::InForce)
    }
}

impl Engine {
    /// Measures the confinement of this engine's children. Starts five of them, which takes about a second; nothing changes by it.
    ///
    /// Errors: those of every run, when a child cannot even be started.
    pub async fn confinement(&self) -> Result<Confinement, EngineError> {
        let seen = self.look_at_a_child().await?;
        Ok(Confinement {
            files: self.try_a_file().await?,
            network: self.try_the_network().await?,
            privileges: seen.privileges(),
            limits: seen.limits(),
            group: seen.group(),
        })
    }

    /// Starts a child that waits for input, and reads what the kernel says about it.
    async fn look_at_a_child(&self) -> Result<Seen, EngineError> {
        let mut arguments = read_mp4_from_stdin();
        push(&mut arguments, ["-f", "null", "-"]);
        let job = measurement(arguments, Files::default());
        let permit = self.runner().admission.enter(job.priority, job.limits.memory_bytes).await?;
        let mut child = Child::start(&self.runner().cage, &job, permit).await.map_err(EngineError::Spawn)?;
        let seen = child.id().ok_or_else(|| io::Error::other("the child ended early")).and_then(Seen::of);
        child.kill();
        let _ = child.ended().await;
        seen.map_err(EngineError::Spawn)
    }

    /// Lets one child read a file that was granted, and another the same file when it was not.
    async fn try_a_file(&self) -> Result<Guard, EngineError> {
        let file = canary().map_err(EngineError::Spawn)?;
        let read = |files| self.run(measurement(read_raw(&format!("file:{}", file.path().display())), files));
        let granted = read(Files { read: vec![file.path().to_owned()], write: None }).await;
        let refused = read(Files::default()).await;
        Ok(match (granted, refused) {
            (Ok(content), Err(EngineError::Failed { .. })) if content == CANARY[..] => Guard::InForce,
            (Ok(content), Ok(stolen)) if content == CANARY[..] && stolen == content => {
                Guard::Absent("the kernel enforces no Landlock rules; it needs 5.13 or newer, with landlock in its lsm list".into())
            }
            (granted, refused) => Guard::Absent(format!(
                "the measurement failed: a granted file gave {}, another one {}",
                outcome(&granted),
                outcome(&refused)
            )),
        })
    }

    /// Lets one child connect to a port that listens here, and another send to one.
    async fn try_the_network(&self) -> Result<Guard, EngineError> {
        let (listener, tcp) = listen().map_err(EngineError::Spawn)?;
        let connect = read_raw(&format!("tcp://{tcp}?timeout=1000000"));
        let connected = self.run(measurement(connect, Files::default())).await;
        let by_tcp = connected.is_ok() || listener.accept().is_ok();

        let (receiver, udp) = receive().map_err(EngineError::Spawn)?;
        let file = canary().map_err(EngineError::Spawn)?;
        let send = copy_raw(&format!("file:{}", file.path().display()), &format!("udp://{udp}"));
        let sent =
            self.run(measurement(send, Files { read: vec![file.path().to_owned()], write: None })).await;
        let by_udp = sent.is_ok() || receiver.recv(&mut [0; CANARY.len()]).is_ok();

        Ok(match (by_tcp, by_udp) {
            (false, false) => Guard::InForce,
            (false, true) => Guard::Absent(format!("only TCP is refused; {NO_FILTER}")),
            (true, _) => Guard::Absent(NO_FILTER.into()),
        })
    }
}

/// Why sockets and sessions are not refused.
const NO_FILTER: &str = "the kernel accepted no filter of system calls (seccomp)";

fn listen() -> io::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

fn receive() -> io::Result<(UdpSocket, SocketAddr)> {
    let receiver = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    receiver.set_nonblocking(true)?;
    let address = receiver.local_addr()?;
    Ok((receiver, address))
}

fn measurement(arguments: Vec<OsString>, files: Files) -> Job {
    Job {
        kind: "measure",
        arguments,
        input: Bytes::new(),
        files,
        limits: MEASURING,
        priority: Priority::Viewer,
        is_try: true,
    }
}

/// Copies an address byte by byte to standard output.
fn read_raw(from: &str) -> Vec<OsString> {
    copy_raw(from, "pipe:1")
}

fn copy_raw(from: &str, to: &str) -> Vec<OsString> {
    let mut arguments = quiet();
    push(&mut arguments, ["-f", "u8", "-i", from, "-c", "copy", "-f", "u8", to]);
    arguments
}

fn canary() -> io::Result<tempfile::NamedTempFile> {
    let mut file = tempfile::NamedTempFile::new()?;
    file.write_all(CANARY)?;
    Ok(file)
}

fn outcome(result: &Result<Bytes, EngineError>) -> String {
    result.as_ref().map_or_else(ToString::to_string, |bytes| format!("{} bytes", bytes.len()))
}

/// What `/proc` says about a running child.
struct Seen {
    pid: Pid,
    status: String,
    limits: String,
    group: Option<Pid>,
    /// The `status` of the thread that looks.
    ours: String,
}

impl Seen {
    fn of(pid: Pid) -> io::Result<Self> {
        let folder = Path::new("/proc").join(pid.as_raw_nonzero().to_string());
        Ok(Self {
            pid,
            status: fs::read_to_string(folder.join("status"))?,
            limits: fs::read_to_string(folder.join("limits"))?,
            group: rustix::process::getpgid(Some(pid)).ok(),
            ours: fs::read_to_string("/proc/thread-self/status")?,
        })
    }

    fn field(&self, name: &str) -> Option<&str> {
        field(&self.status, name)
    }

    /// Whether the child has a filter that we have not: in a container, the server itself is under one. Kernels
    /// before 5.9 do not count them.
    fn has_filter(&self) -> bool {
        let count = |status| field(status, "Seccomp_filters").and_then(|count| count.parse::<u32>().ok());
        match (count(&self.status), count(&self.ours)) {
            (Some(theirs), Some(ours)) => ours < theirs,
            _ => self.field("Seccomp") == Some("2"),
        }
    }

    fn privileges(&self) -> Guard {
        let none = |name| self.field(name).is_some_and(|set| set.bytes().all(|digit| digit == b'0'));
        if self.field("NoNewPrivs") != Some("1") {
            Guard::Absent("the child may gain privileges by starting a program".into())
        } else if !["CapEff", "CapPrm", "CapInh", "CapAmb"].into_iter().all(none) {
            Guard::Absent("the child kept capabilities of the server".into())
        } else {
            Guard::InForce
        }
    }

    fn limits(&self) -> Guard {
        let names = [
            "Max cpu time",
            "Max file size",
            "Max data size",
            "Max core file size",
            "Max open files",
            "Max address space",
        ];
        // proc_pid_limits(5): the name, the soft limit, the hard limit, the unit.
        let unlimited = names.into_iter().find(|name| {
            let line = self.limits.lines().find_map(|line| line.strip_prefix(name));
            line.is_none_or(|line| line.contains("unlimited"))
        });
        unlimited.map_or(Guard::InForce, |name| Guard::Absent(format!("no limit is set: {name}")))
    }

    fn group(&self) -> Guard {
        if self.group != Some(self.pid) {
            Guard::Absent("the child shares the process group of the server".into())
        } else if !self.has_filter() {
            Guard::Absent(
                "a child could leave its group; the kernel accepted no filter of system calls (seccomp)"
                    .into(),
            )
        } else {
            Guard::InForce
        }
    }
}

/// A field of a `status` file: a line of its name, a colon, white space and the value. proc_pid_status(5).
fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(line.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str = "Name:\tffmpeg\nCapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n\
                          CapBnd:\t000001ffffffffff\nCapAmb:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n";
    const LIMITS: &str = "Limit                     Soft Limit           Hard Limit           Units     \n\
                          Max cpu time              10                   10                   seconds   \n\
                          Max file size             0                    0                    bytes     \n\
                          Max data size             268435456            268435456            bytes     \n\
                          Max core file size        0                    0                    bytes     \n\
                          Max open files            64                   64                   files     \n\
                          Max address space         1342177280           1342177280           bytes     \n";

    fn seen(status: &str, limits: &str) -> Seen {
        let pid = Pid::from_raw(100).unwrap();
        Seen {
            pid,
            status: status.into(),
            limits: limits.into(),
            group: Some(pid),
            ours: "Seccomp:\t0\n".into(),
        }
    }

    fn absent(reason: &str) -> Guard {
        Guard::Absent(reason.into())
    }

    #[test]
    fn a_confined_child_is_seen_as_one() {
        let seen = seen(STATUS, LIMITS);
        assert_eq!(
            [seen.privileges(), seen.limits(), seen.group()],
            [Guard::InForce, Guard::InForce, Guard::InForce]
        );
        assert!(seen.has_filter());
    }

    #[test]
    fn every_missing_part_is_named() {
        let gaining = seen(&STATUS.replace("NoNewPrivs:\t1", "NoNewPrivs:\t0"), LIMITS);
        assert_eq!(gaining.privileges(), absent("the child may gain privileges by starting a program"));
        let capable = seen(&STATUS.replace("CapPrm:\t0000000000000000", "CapPrm:\t0000000000000002"), LIMITS);
        assert_eq!(capable.privileges(), absent("the child kept capabilities of the server"));
        let hungry = seen(
            STATUS,
            &LIMITS.replace("268435456            268435456 ", "268435456            unlimited "),
        );
        assert_eq!(hungry.limits(), absent("no limit is set: Max data size"));
        assert_eq!(seen(STATUS, "").limits(), absent("no limit is set: Max cpu time"));
        let unfiltered = seen(&STATUS.replace("Seccomp:\t2", "Seccomp:\t0"), LIMITS);
        assert!(!unfiltered.has_filter());
        assert!(matches!(unfiltered.group(), Guard::Absent(reason) if reason.contains("seccomp")));
        let filtered = |count| format!("Seccomp:\t2\nSeccomp_filters:\t{count}\n");
        for (theirs, ours, expected) in [(1, 0, true), (1, 1, false), (3, 2, true)] {
            let contained = Seen { ours: filtered(ours), ..seen(&filtered(theirs), LIMITS) };
            assert_eq!(contained.has_filter(), expected, "{theirs} of which {ours} are ours");
        }
        let shared = Seen { group: Pid::from_raw(99), ..seen(STATUS, LIMITS) };
        assert_eq!(shared.group(), absent("the child shares the process group of the server"));
    }
}
