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
        let (seen, files, network, calls) = tokio::try_join!(
            self.look_at_a_child(),
            self.try_a_file(),
            self.try_the_network(),
            self.try_the_calls(),
        )?;
        Ok(Confinement {
            files,
            network,
            calls,
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

    /// Lets a child try calls of the deny list.
    async fn try_the_calls(&self) -> Result<Guard, EngineError> {
        let cage = &self.runner().cage;
        if cage.filter.is_none() {
            return Ok(Guard::Absent("this processor has no filter of system calls (seccomp)".into()));
        }
        let job = measurement(Vec::new(), Files::default());
        let allowed = child::try_calls(cage, &job).await.map_err(EngineError::Spawn)?;
        Ok(match allowed {
            None => Guard::InForce,
            Some(call) => Guard::Absent(format!("a child may call {call}; {NO_FILTER}")),
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
