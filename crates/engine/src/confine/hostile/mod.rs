//! A hostile program instead of ffmpeg: it tries every known way out, and prints those that worked.
//! `docs/confinement.md` is the result.
//!
//! The program is this test executable, started again with arguments that name
//! [`hostile_helper_process`]. It runs four times: without any confinement, to see that its attacks
//! work; with all of it; and twice with one layer missing. `attacks.rs` lists the attacks, `document.rs`
//! writes the page.

mod attacks;
mod document;
mod system;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use kinora_testkit::on_kernel_without;

use crate::admission::Admission;
use crate::confine::{Sandbox, filter};
use crate::job::{Files, Job, Limits};
use crate::priority::Priority;
use crate::run::Runner;
use attacks::{ATTACKS, Layer};

/// Limits of one run of the program.
const LIMITS: Limits = Limits {
    deadline: Duration::from_secs(60),
    cpu: Duration::from_secs(60),
    memory_bytes: 256 << 20,
    output_max: 1 << 20,
    file_max: 1 << 10,
};

/// Prefix of the argument with the scene.
const SCENE: &str = "scene:";

/// The files and ports of one run. They are passed in an argument, because the environment is empty.
struct Scene {
    folder: PathBuf,
    tcp_port: u16,
    udp_port: u16,
}

impl Scene {
    /// Parses the argument; `None` in an ordinary run of the tests.
    fn of_arguments() -> Option<Self> {
        let argument =
            std::env::args().find_map(|argument| argument.strip_prefix(SCENE).map(str::to_owned))?;
        let mut parts = argument.split(':');
        let mut next = || parts.next().unwrap().to_owned();
        let (folder, tcp_port, udp_port) = (next(), next(), next());
        Some(Self {
            folder: folder.into(),
            tcp_port: tcp_port.parse().unwrap(),
            udp_port: udp_port.parse().unwrap(),
        })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

/// A scene with its folder and its open sockets, for the duration of a run.
struct Stage {
    folder: tempfile::TempDir,
    tcp: TcpListener,
    udp: UdpSocket,
    _unix: UnixListener,
}

impl Stage {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["input", "output", "secret", "renamed", "removed"] {
            fs::write(folder.path().join(name), "of another program").unwrap();
        }
        fs::create_dir(folder.path().join("empty")).unwrap();
        let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let unix = UnixListener::bind(folder.path().join("socket")).unwrap();
        Self { folder, tcp, udp, _unix: unix }
    }

    fn arguments(&self) -> Vec<OsString> {
        let (tcp, udp) = (self.tcp.local_addr().unwrap().port(), self.udp.local_addr().unwrap().port());
        let scene = format!("{SCENE}{}:{tcp}:{udp}", self.folder.path().display());
        let name = "confine::hostile::hostile_helper_process";
        ["--exact", name, "--nocapture", &scene].map(OsString::from).to_vec()
    }

    fn files(&self) -> Files {
        let path = |name| self.folder.path().join(name);
        Files { read: vec![path("input")], write: Some(path("output")) }
    }
}

/// Not a test, but the program of the next one. Does nothing when run with the others.
#[test]
fn hostile_helper_process() {
    let Some(scene) = Scene::of_arguments() else { return };
    for (number, attack) in ATTACKS.iter().enumerate() {
        for attempt in attack.attempts.iter().copied().flatten() {
            let line = format!("\n{RESULT_PREFIX}{number} {} ", attempt.name);
            // A program that replaces this one prints the result itself.
            let worked = (attempt.run)(&scene, &line);
            println!("{line}{}", if worked { WORKS } else { DENIED });
        }
    }
}

/// Prefix of each result line: the number of an attack, the name of an attempt, and the outcome.
const RESULT_PREFIX: &str = "hostile ";
const WORKS: &str = "works";
const DENIED: &str = "refused";

/// For each attack, the attempts that worked.
type Worked = Vec<Vec<String>>;

/// Parses the results. Panics if one is missing.
fn parse_worked(output: &[u8]) -> Worked {
    let text = String::from_utf8_lossy(output);
    let mut answers = BTreeMap::new();
    for line in text.lines().filter_map(|line| line.strip_prefix(RESULT_PREFIX)) {
        let [number, name, outcome] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        answers.insert((number.parse::<usize>().unwrap(), name.to_owned()), outcome == WORKS);
    }
    let of_attack = |(number, attack): (usize, &attacks::Attack)| {
        let names = attack.attempts.iter().copied().flatten().map(|attempt| attempt.name.to_owned());
        let answer = |name: &String| answers.get(&(number, name.clone())).copied();
        names.filter(|name| answer(name).unwrap_or_else(|| panic!("no answer of {name}: {text}"))).collect()
    };
    ATTACKS.iter().enumerate().map(of_attack).collect()
}

fn without_any_confinement() -> Worked {
    let stage = Stage::new();
    #[expect(clippy::disallowed_methods, reason = "shows that the attacks work")]
    let mut program = std::process::Command::new(std::env::current_exe().unwrap());
    let output = program.args(stage.arguments()).output().unwrap();
    parse_worked(&output.stdout)
}

/// Runs the program as the engine runs ffmpeg.
fn confined() -> Worked {
    let stage = Stage::new();
    let program = std::env::current_exe().unwrap().canonicalize().unwrap();
    let runner = Runner::new(Sandbox::new(program, Vec::new()), Admission::new(None));
    let job = Job {
        kind: "hostile",
        arguments: stage.arguments(),
        input: Bytes::new(),
        files: stage.files(),
        limits: LIMITS,
        priority: Priority::Viewer,
        is_probe: false,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    parse_worked(&runtime.block_on(runner.run(job)).unwrap())
}

/// Whether this kernel has both layers.
fn has_all_layers() -> bool {
    let layers = fs::read_to_string("/sys/kernel/security/lsm");
    let has_landlock = layers.map_or_else(|_| system::has_landlock(), |layers| layers.contains("landlock"));
    has_landlock && Path::new("/proc/sys/kernel/seccomp").exists()
}

#[test]
fn confinement_md_is_the_result_of_a_hostile_program() {
    if !has_all_layers() {
        return; // The page is about a kernel that has them.
    }
    let unconfined = without_any_confinement();
    for (attack, worked) in
        ATTACKS.iter().zip(&unconfined).filter(|(attack, _)| attack.always_works_unconfined)
    {
        let all: Vec<_> = attack.attempts.iter().copied().flatten().map(|attempt| attempt.name).collect();
        assert_eq!(*worked, all, "unconfined, each attempt works to {}", attack.aim);
    }
    let full = confined();
    let without = |call| on_kernel_without(&[call], confined);
    let without_landlock = without(libc::SYS_landlock_create_ruleset);
    let without_seccomp = without(libc::SYS_seccomp);
    for (attack, worked) in ATTACKS.iter().zip(&full) {
        let is_allowed = attack.layer == Layer::None;
        assert_eq!(!worked.is_empty(), is_allowed, "to {}: {worked:?}", attack.aim);
    }
    document::check(&document::page(&[full, without_landlock, without_seccomp]));
}

#[test]
fn hostile_helper_tries_every_filtered_system_call() {
    let tried: Vec<_> = ATTACKS.iter().flat_map(|attack| attack.attempts.iter().copied().flatten()).collect();
    let missing = |call: &i64| tried.iter().all(|attempt| attempt.call != Some(*call));
    let calls = filter::denied_calls().into_iter().chain(filter::enosys_calls().iter().copied());
    assert_eq!(calls.filter(missing).collect::<Vec<_>>(), Vec::<i64>::new());
}
