//! What of the cage is really in force, measured with real children.

use std::ffi::OsString;
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::time::Duration;

use crate::child::{self, Child};
use crate::confine::seen::Seen;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::input::read_mp4_from_stdin;
use crate::job::{Files, Job, Limits, push, quiet};
use crate::priority::Priority;
use bytes::Bytes;

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
    /// A child makes no call of the deny list: no process, no shared memory, no change of file attributes
    /// (seccomp).
    pub calls: Guard,
    /// A child has no capability and can gain none.
    pub privileges: Guard,
    /// A child's memory, processor time, files and core dumps are limited.
    pub limits: Guard,
    /// A child leads its own process group, so that nothing of it outlives a job.
    pub group: Guard,
}

impl Confinement {
    /// The parts with their names, in a fixed order.
    pub fn parts(&self) -> [(&'static str, &Guard); 6] {
        [
            ("files", &self.files),
            ("network", &self.network),
            ("calls", &self.calls),
            ("privileges", &self.privileges),
            ("limits", &self.limits),
            ("group", &self.group),
        ]
    }

    /// A confinement that could not be measured: no part of it is known to hold.
    pub fn unknown(reason: &str) -> Self {
        let absent = || Guard::Absent(reason.to_owned());
        Self {
            files: absent(),
            network: absent(),
            calls: absent(),
            privileges: absent(),
            limits: absent(),
            group: absent(),
        }
    }

    /// Whether every part holds.
    pub fn is_complete(&self) -> bool {
        self.parts().iter().all(|(_, guard)| **guard == Guard::InForce)
    }
}

impl Engine {
    /// Measures the confinement of this engine's children. Starts six of them at once, which takes about a
    /// second; changes nothing.
    ///
    /// Errors: those of every run, when a child cannot even be started.
    pub async fn confinement(&self) -> Result<Confinement, EngineError> {
        let (seen, files, tcp, udp, allowed) = tokio::try_join!(
            self.look_at_a_child(),
            self.try_a_file(),
            self.try_tcp(),
            self.try_udp(),
            self.try_the_calls(),
        )?;
        Ok(Confinement {
            files,
            network: network_guard(allowed != Some(SOCKET), &tcp, &udp),
            calls: self.calls_guard(allowed),
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

    /// Lets a child connect to a port that listens here.
    async fn try_tcp(&self) -> Result<Reached, EngineError> {
        let (listener, address) = listen().map_err(EngineError::Spawn)?;
        let connect = read_raw(&format!("tcp://{address}?timeout=1000000"));
        let ended = self.run(measurement(connect, Files::default())).await;
        Ok(Reached::of(ended, listener.accept().is_ok()))
    }

    /// Lets a child send to a port that receives here.
    async fn try_udp(&self) -> Result<Reached, EngineError> {
        let (receiver, address) = receive().map_err(EngineError::Spawn)?;
        let file = canary().map_err(EngineError::Spawn)?;
        let send = copy_raw(&format!("file:{}", file.path().display()), &format!("udp://{address}"));
        let files = Files { read: vec![file.path().to_owned()], write: None };
        let ended = self.run(measurement(send, files)).await;
        Ok(Reached::of(ended, receiver.recv(&mut [0; CANARY.len()]).is_ok()))
    }

    /// Lets a child try calls of the deny list. Returns the first that was allowed.
    async fn try_the_calls(&self) -> Result<Option<&'static str>, EngineError> {
        let job = measurement(Vec::new(), Files::default());
        child::try_calls(&self.runner().cage, &job).await.map_err(EngineError::Spawn)
    }

    fn calls_guard(&self, allowed: Option<&'static str>) -> Guard {
        if self.runner().cage.filter.is_none() {
            return Guard::Absent("this processor has no filter of system calls (seccomp)".into());
        }
        match allowed {
            None => Guard::InForce,
            Some(call) => Guard::Absent(format!("a child may call {call}; {NO_FILTER}")),
        }
    }
}

/// Whether a child reached a port.
#[derive(Debug, PartialEq, Eq)]
enum Reached {
    Yes,
    /// ffmpeg failed: it was refused, or its build lacks the protocol.
    No,
    /// Nothing is known: the child did not run, or did not end by itself. A text for the operator.
    Unknown(String),
}

impl Reached {
    fn of(ended: Result<Bytes, EngineError>, has_arrived: bool) -> Self {
        match ended {
            _ if has_arrived => Self::Yes,
            Ok(_) => Self::Yes,
            Err(EngineError::Failed { .. }) => Self::No,
            Err(error) => Self::Unknown(error.to_string()),
        }
    }
}

/// A child that cannot make a socket has no network. That ffmpeg failed is not enough: its build may lack a
/// protocol that another program in its place has.
fn network_guard(has_no_socket: bool, tcp: &Reached, udp: &Reached) -> Guard {
    match (tcp, udp) {
        (Reached::Unknown(error), _) | (_, Reached::Unknown(error)) => {
            Guard::Absent(format!("the measurement failed: {error}"))
        }
        (Reached::No, Reached::No) if has_no_socket => Guard::InForce,
        (Reached::No, Reached::Yes) => Guard::Absent(format!("only TCP is refused; {NO_FILTER}")),
        _ => Guard::Absent(NO_FILTER.into()),
    }
}

/// The call that makes a socket, the first one of those that a child tries.
const SOCKET: &str = "socket";

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_is_guarded_only_where_no_socket_can_be_made_and_ffmpeg_itself_failed() {
        let failed = || Reached::of(Err(EngineError::Failed { exit: Some(1) }), false);
        let check = |has_no_socket: bool, tcp: Reached, udp: Reached, expected: Result<(), &str>| {
            let guard = network_guard(has_no_socket, &tcp, &udp);
            let found = match &guard {
                Guard::InForce => Ok(()),
                Guard::Absent(reason) => Err(reason.as_str()),
            };
            assert_eq!(found, expected, "{has_no_socket} {tcp:?} {udp:?}");
        };
        check(true, failed(), failed(), Ok(()));
        // A build without protocols fails, too.
        check(false, failed(), failed(), Err(NO_FILTER));
        let busy = || Reached::of(Err(EngineError::Busy), false);
        check(true, busy(), failed(), Err("the measurement failed: the media engine is busy"));
        check(true, failed(), busy(), Err("the measurement failed: the media engine is busy"));
        let killed = Reached::of(Err(EngineError::Killed), false);
        check(true, killed, failed(), Err("the measurement failed: the media engine was killed"));
        // It has arrived, whatever ended the child.
        check(true, Reached::of(Err(EngineError::Killed), true), failed(), Err(NO_FILTER));
        check(
            true,
            failed(),
            Reached::of(Ok(Bytes::new()), false),
            Err("only TCP is refused; the kernel accepted no filter of system calls (seccomp)"),
        );
    }
}
