//! The parts of the confinement that are really in force, measured with real children.

use std::ffi::OsString;
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::time::Duration;

use crate::child::{self, Child};
use crate::confine::proc_status::ProcStatus;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::input::mp4_stdin_arguments;
use crate::job::{Files, Job, Limits, push, quiet_arguments};
use crate::priority::Priority;
use bytes::Bytes;

/// Limits of one measurement.
const MEASUREMENT_LIMITS: Limits = Limits {
    deadline: Duration::from_secs(20),
    cpu: Duration::from_secs(10),
    memory_bytes: 256 << 20,
    output_max: 1 << 10,
    file_max: 0,
};

/// Content of the file a child must not read. Read as raw audio, it comes out unchanged.
const CANARY: &[u8; 32] = b"kinora: only for its own process";

/// Whether one part of the confinement is effective.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Protection {
    /// It was tried and is effective.
    InForce,
    /// It is not effective, for this reason. A sentence for the operator.
    Absent(String),
}

/// The confinement as a child really has it. Each part was tried on a child of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confinement {
    /// A child reads no file but its own (Landlock).
    pub files: Protection,
    /// A child neither connects nor sends (seccomp for every socket, Landlock for TCP).
    pub network: Protection,
    /// A child makes no call of the deny list: no process, no shared memory, no change of file attributes
    /// (seccomp).
    pub calls: Protection,
    /// A child has no capability and can gain none.
    pub privileges: Protection,
    /// A child's memory, processor time, files and core dumps are limited.
    pub limits: Protection,
    /// A child leads its own process group, so that no process of it outlives a job.
    pub group: Protection,
}

impl Confinement {
    /// The parts with their names, in a fixed order.
    pub fn parts(&self) -> [(&'static str, &Protection); 6] {
        [
            ("files", &self.files),
            ("network", &self.network),
            ("calls", &self.calls),
            ("privileges", &self.privileges),
            ("limits", &self.limits),
            ("group", &self.group),
        ]
    }

    /// A confinement that could not be measured: no part of it is confirmed.
    pub fn unknown(reason: &str) -> Self {
        let absent = || Protection::Absent(reason.to_owned());
        Self {
            files: absent(),
            network: absent(),
            calls: absent(),
            privileges: absent(),
            limits: absent(),
            group: absent(),
        }
    }

    /// Whether every part is effective.
    pub fn is_complete(&self) -> bool {
        self.parts().iter().all(|(_, protection)| **protection == Protection::InForce)
    }
}

impl Engine {
    /// Measures the confinement of this engine's children. Starts six of them at once, which takes about a
    /// second; changes nothing.
    ///
    /// Errors: those of every run, when a child cannot even be started.
    pub async fn confinement(&self) -> Result<Confinement, EngineError> {
        let (proc_status, files, tcp, udp, allowed) = tokio::try_join!(
            self.inspect_child(),
            self.probe_file_access(),
            self.probe_tcp(),
            self.probe_udp(),
            self.probe_calls(),
        )?;
        Ok(Confinement {
            files,
            network: network_protection(allowed != Some(SOCKET), &tcp, &udp),
            calls: self.calls_protection(allowed),
            privileges: proc_status.privileges(),
            limits: proc_status.limits(),
            group: proc_status.group(),
        })
    }

    /// Starts a child that waits for input, and reads its state from the kernel.
    async fn inspect_child(&self) -> Result<ProcStatus, EngineError> {
        let mut arguments = mp4_stdin_arguments();
        push(&mut arguments, ["-f", "null", "-"]);
        let job = measurement_job(arguments, Files::default());
        let permit = self.runner().admission.acquire(job.priority, job.limits.memory_bytes).await?;
        let mut child =
            Child::start(&self.runner().sandbox, &job, permit).await.map_err(EngineError::Spawn)?;
        let proc_status =
            child.id().ok_or_else(|| io::Error::other("the child ended early")).and_then(ProcStatus::of);
        child.kill();
        let _ = child.wait().await;
        proc_status.map_err(EngineError::Spawn)
    }

    /// Makes one child read a granted file, and another the same file without the grant.
    async fn probe_file_access(&self) -> Result<Protection, EngineError> {
        let file = canary_file().map_err(EngineError::Spawn)?;
        let read = |files| {
            self.run(measurement_job(read_arguments(&format!("file:{}", file.path().display())), files))
        };
        let granted = read(Files { read: vec![file.path().to_owned()], write: None }).await;
        let denied = read(Files::default()).await;
        Ok(match (granted, denied) {
            (Ok(content), Err(EngineError::Failed { .. })) if content == CANARY[..] => Protection::InForce,
            (Ok(content), Ok(stolen)) if content == CANARY[..] && stolen == content => {
                Protection::Absent("the kernel enforces no Landlock rules; it needs 5.13 or newer, with landlock in its lsm list".into())
            }
            (granted, refused) => Protection::Absent(format!(
                "the measurement failed: a granted file gave {}, another one {}",
                outcome(&granted),
                outcome(&refused)
            )),
        })
    }

    /// Makes a child connect to a port that listens here.
    async fn probe_tcp(&self) -> Result<Reachability, EngineError> {
        let (listener, address) = bind_tcp().map_err(EngineError::Spawn)?;
        let connect = read_arguments(&format!("tcp://{address}?timeout=1000000"));
        let ended = self.run(measurement_job(connect, Files::default())).await;
        Ok(Reachability::of(ended, listener.accept().is_ok()))
    }

    /// Makes a child send to a port that receives here.
    async fn probe_udp(&self) -> Result<Reachability, EngineError> {
        let (receiver, address) = bind_udp().map_err(EngineError::Spawn)?;
        let file = canary_file().map_err(EngineError::Spawn)?;
        let send = copy_arguments(&format!("file:{}", file.path().display()), &format!("udp://{address}"));
        let files = Files { read: vec![file.path().to_owned()], write: None };
        let ended = self.run(measurement_job(send, files)).await;
        Ok(Reachability::of(ended, receiver.recv(&mut [0; CANARY.len()]).is_ok()))
    }

    /// Makes a child try calls of the deny list. Returns the first that was allowed.
    async fn probe_calls(&self) -> Result<Option<&'static str>, EngineError> {
        let job = measurement_job(Vec::new(), Files::default());
        child::run_call_probe(&self.runner().sandbox, &job).await.map_err(EngineError::Spawn)
    }

    fn calls_protection(&self, allowed: Option<&'static str>) -> Protection {
        if self.runner().sandbox.filter.is_none() {
            return Protection::Absent("this processor has no filter of system calls (seccomp)".into());
        }
        match allowed {
            None => Protection::InForce,
            Some(call) => Protection::Absent(format!("a child may call {call}; {NO_FILTER}")),
        }
    }
}

/// Whether a child reached a port.
#[derive(Debug, PartialEq, Eq)]
enum Reachability {
    Yes,
    /// ffmpeg failed: the connection was denied, or its build lacks the protocol.
    No,
    /// Unknown: the child did not run, or did not end by itself. A text for the operator.
    Unknown(String),
}

impl Reachability {
    fn of(ended: Result<Bytes, EngineError>, has_arrived: bool) -> Self {
        match ended {
            _ if has_arrived => Self::Yes,
            Ok(_) => Self::Yes,
            Err(EngineError::Failed { .. }) => Self::No,
            Err(error) => Self::Unknown(error.to_string()),
        }
    }
}

/// A child that cannot create a socket has no network. A failure of ffmpeg is not enough: its build may lack
/// a protocol that another program has.
fn network_protection(has_no_socket: bool, tcp: &Reachability, udp: &Reachability) -> Protection {
    match (tcp, udp) {
        (Reachability::Unknown(error), _) | (_, Reachability::Unknown(error)) => {
            Protection::Absent(format!("the measurement failed: {error}"))
        }
        (Reachability::No, Reachability::No) if has_no_socket => Protection::InForce,
        (Reachability::No, Reachability::Yes) => {
            Protection::Absent(format!("only TCP is refused; {NO_FILTER}"))
        }
        _ => Protection::Absent(NO_FILTER.into()),
    }
}

/// The call that creates a socket, the first one that a child tries.
const SOCKET: &str = "socket";

/// Reason why sockets and sessions are not denied.
const NO_FILTER: &str = "the kernel accepted no filter of system calls (seccomp)";

fn bind_tcp() -> io::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

fn bind_udp() -> io::Result<(UdpSocket, SocketAddr)> {
    let receiver = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    receiver.set_nonblocking(true)?;
    let address = receiver.local_addr()?;
    Ok((receiver, address))
}

fn measurement_job(arguments: Vec<OsString>, files: Files) -> Job {
    Job {
        kind: "measure",
        arguments,
        input: Bytes::new(),
        files,
        limits: MEASUREMENT_LIMITS,
        priority: Priority::Viewer,
        is_probe: true,
    }
}

/// Copies an address byte by byte to standard output.
fn read_arguments(from: &str) -> Vec<OsString> {
    copy_arguments(from, "pipe:1")
}

fn copy_arguments(from: &str, to: &str) -> Vec<OsString> {
    let mut arguments = quiet_arguments();
    push(&mut arguments, ["-f", "u8", "-i", from, "-c", "copy", "-f", "u8", to]);
    arguments
}

fn canary_file() -> io::Result<tempfile::NamedTempFile> {
    let mut file = tempfile::NamedTempFile::new()?;
    file.write_all(CANARY)?;
    Ok(file)
}

fn outcome(result: &Result<Bytes, EngineError>) -> String {
    result.as_ref().map_or_else(ToString::to_string, |bytes| format!("{} bytes", bytes.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_guard_needs_blocked_sockets_and_failed_ffmpeg() {
        let failed = || Reachability::of(Err(EngineError::Failed { exit: Some(1) }), false);
        let check =
            |has_no_socket: bool, tcp: Reachability, udp: Reachability, expected: Result<(), &str>| {
                let protection = network_protection(has_no_socket, &tcp, &udp);
                let found = match &protection {
                    Protection::InForce => Ok(()),
                    Protection::Absent(reason) => Err(reason.as_str()),
                };
                assert_eq!(found, expected, "{has_no_socket} {tcp:?} {udp:?}");
            };
        check(true, failed(), failed(), Ok(()));
        // A build without protocols fails too.
        check(false, failed(), failed(), Err(NO_FILTER));
        let busy = || Reachability::of(Err(EngineError::Busy), false);
        check(true, busy(), failed(), Err("the measurement failed: the media engine is busy"));
        check(true, failed(), busy(), Err("the measurement failed: the media engine is busy"));
        let killed = Reachability::of(Err(EngineError::Killed), false);
        check(true, killed, failed(), Err("the measurement failed: the media engine was killed"));
        // The data arrived, regardless of how the child ended.
        check(true, Reachability::of(Err(EngineError::Killed), true), failed(), Err(NO_FILTER));
        check(
            true,
            failed(),
            Reachability::of(Ok(Bytes::new()), false),
            Err("only TCP is refused; the kernel accepted no filter of system calls (seccomp)"),
        );
    }
}
