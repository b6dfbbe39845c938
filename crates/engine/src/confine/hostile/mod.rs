//! A hostile program in ffmpeg's place: it tries every way out that this crate knows, and prints the ones
//! that worked. `docs/confinement.md` is the result.
//!
//! The program is this test executable, started again with arguments that name
//! [`stand_in_for_a_hostile_program`]. It runs four times: without any confinement, to see that its attacks
//! work; with all of it; and with one layer absent, twice. `attacks.rs` lists what it tries, `document.rs`
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
use crate::confine::{Cage, filter};
use crate::job::{Files, Job, Limits};
use crate::priority::Priority;
use crate::run::Runner;
use attacks::{ATTACKS, Layer};

/// What one run of the program may use.
const LIMITS: Limits = Limits {
    deadline: Duration::from_secs(60),
    cpu: Duration::from_secs(60),
    memory_bytes: 256 << 20,
    output_max: 1 << 20,
    file_max: 1 << 10,
};

/// Begins the argument by which the program finds its scene.
const SCENE: &str = "scene:";

/// The files and ports of one run. They reach the program in an argument: its environment is empty.
struct Scene {
    folder: PathBuf,
    tcp_port: u16,
    udp_port: u16,
}

impl Scene {
    /// Reads the argument; `None` in an ordinary run of the tests.
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

/// A scene with its folder and its open sockets, while a run lasts.
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
        let name = "confine::hostile::stand_in_for_a_hostile_program";
        ["--exact", name, "--nocapture", &scene].map(OsString::from).to_vec()
    }

    fn files(&self) -> Files {
        let path = |name| self.folder.path().join(name);
        Files { read: vec![path("input")], write: Some(path("output")) }
    }
}

/// No test, but the program of the next one. Does nothing when it runs with the others.
#[test]
fn stand_in_for_a_hostile_program() {
    let Some(scene) = Scene::of_arguments() else { return };
    for (number, attack) in ATTACKS.iter().enumerate() {
        for attempt in attack.attempts.iter().copied().flatten() {
            let line = format!("\n{ANSWER}{number} {} ", attempt.name);
            // A program that takes the place of this one prints the answer itself.
            let worked = (attempt.run)(&scene, &line);
            println!("{line}{}", if worked { WORKS } else { REFUSED });
        }
    }
}

/// Begins each line that is an answer: the number of an attack, the name of an attempt, and the outcome.
const ANSWER: &str = "hostile ";
const WORKS: &str = "works";
const REFUSED: &str = "refused";

/// For each attack the attempts that worked.
type Worked = Vec<Vec<String>>;

/// Reads the answers. Panics where one is missing.
fn worked(output: &[u8]) -> Worked {
    let text = String::from_utf8_lossy(output);
    let mut answers = BTreeMap::new();
    for line in text.lines().filter_map(|line| line.strip_prefix(ANSWER)) {
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
    worked(&output.stdout)
}

/// Runs the program as the engine runs ffmpeg.
fn confined() -> Worked {
    let stage = Stage::new();
    let program = std::env::current_exe().unwrap().canonicalize().unwrap();
    let runner = Runner::new(Cage::new(program, Vec::new()), Admission::new(None));
    let job = Job {
        kind: "hostile",
        arguments: stage.arguments(),
        input: Bytes::new(),
        files: stage.files(),
        limits: LIMITS,
        priority: Priority::Viewer,
        is_try: false,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    worked(&runtime.block_on(runner.run(job)).unwrap())
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
    let free = without_any_confinement();
    for (attack, worked) in ATTACKS.iter().zip(&free).filter(|(attack, _)| attack.is_certain) {
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
fn the_program_tries_each_call_of_the_filter() {
    let tried: Vec<_> = ATTACKS.iter().flat_map(|attack| attack.attempts.iter().copied().flatten()).collect();
    let missing = |call: &i64| tried.iter().all(|attempt| attempt.call != Some(*call));
    let calls = filter::always_refused().into_iter().chain(filter::unknown().iter().copied());
    assert_eq!(calls.filter(missing).collect::<Vec<_>>(), Vec::<i64>::new());
}
