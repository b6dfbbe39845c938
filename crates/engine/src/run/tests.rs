//! Programs that misbehave in every known way: each affects its own job only.

use std::ffi::OsString;
use std::fs;
use std::num::NonZeroUsize;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use bytes::Bytes;

use super::{ProcessEnd, Runner};
use crate::admission::Admission;
use crate::child::Child;
use crate::confine::Sandbox;
use crate::error::EngineError;
use crate::job::{Files, Job, Limits};
use crate::priority::Priority;

mod streaming;

/// A deadline under test, short enough to wait for. Only programs that hang get it: they reach it on any
/// machine.
const SHORT: Duration = Duration::from_millis(500);
/// Never reached on the real clock by a test that passes.
const LONG: Duration = Duration::from_secs(60);

/// A shell script instead of ffmpeg, in a folder of its own. Its path is in the command line of all its
/// children.
///
/// The filter denies new processes, so a script uses the commands of its shell, and `exec` for any other
/// program.
struct Program {
    folder: tempfile::TempDir,
    runner: Runner,
}

impl Program {
    fn new(script: &str) -> Self {
        Self::on(script, Sandbox::new)
    }

    /// The same on a kernel without filters of system calls, where a script can start processes.
    fn without_filter(script: &str) -> Self {
        Self::on(script, |program, readable| Sandbox { filter: None, ..Sandbox::new(program, readable) })
    }

    fn on(script: &str, new_sandbox: impl FnOnce(PathBuf, Vec<PathBuf>) -> Sandbox) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        // Paths that a script needs in addition to a program: its shell, the tools it calls, and `/proc`.
        let readable = ["/bin", "/usr/bin", "/proc"].map(PathBuf::from).to_vec();
        let sandbox = new_sandbox(path.canonicalize().unwrap(), readable);
        Self { folder, runner: Runner::new(sandbox, Admission::new(NonZeroUsize::new(4))) }
    }

    async fn run(&self, limits: Limits) -> Result<Bytes, EngineError> {
        self.runner.run(job(&[], limits)).await
    }

    /// Command lines of the processes of this program that still run.
    fn running(&self) -> Vec<String> {
        let folder = self.folder.path().to_str().unwrap();
        let processes = fs::read_dir("/proc").unwrap().filter_map(|entry| {
            let command_line = fs::read(entry.ok()?.path().join("cmdline")).ok()?;
            Some(String::from_utf8_lossy(&command_line).replace('\0', " "))
        });
        processes.filter(|line| line.contains(folder)).collect()
    }

    /// Waits until `expected` processes run.
    async fn until_running(&self, expected: usize) {
        let mut interval = tokio::time::interval(Duration::from_millis(2));
        let reached = async {
            while self.running().len() != expected {
                interval.tick().await;
            }
        };
        let waited = tokio::time::timeout(LONG, reached).await;
        assert!(waited.is_ok(), "wanted {expected} processes, found {:?}", self.running());
    }
}

fn runner(program: PathBuf, readable: Vec<PathBuf>) -> Runner {
    Runner::new(Sandbox::new(program, readable), Admission::new(NonZeroUsize::new(4)))
}

fn limits(deadline: Duration) -> Limits {
    Limits { deadline, cpu: LONG, memory_bytes: 64 << 20, output_max: 1 << 20, file_max: 0 }
}

fn job(arguments: &[&str], limits: Limits) -> Job {
    Job {
        kind: "test",
        arguments: arguments.iter().map(OsString::from).collect(),
        input: Bytes::new(),
        files: Files::default(),
        limits,
        priority: Priority::Viewer,
        is_probe: false,
    }
}

/// Runs a script, compares its result, and checks that no process of it is left.
async fn check(script: &str, limits: Limits, expected: &str) {
    check_program(Program::new(script), limits, expected).await;
}

async fn check_program(program: Program, limits: Limits, expected: &str) {
    let result = program.run(limits).await;
    let found = match result {
        Ok(output) => format!("ok: {}", String::from_utf8_lossy(&output)),
        Err(error) => format!("{error:?}"),
    };
    let script = fs::read_to_string(&program.runner.sandbox.program).unwrap();
    assert_eq!(found, expected, "{script}");
    program.until_running(0).await;
}

#[tokio::test]
async fn hanging_process_is_killed_at_deadline() {
    check("exec tail -f $0", limits(SHORT), "TimedOut(500ms)").await;
    check("while :; do :; done", limits(SHORT), "TimedOut(500ms)").await;
    check("read line; exec cat", limits(LONG), "ok: ").await;
}

#[tokio::test]
async fn process_that_ignores_sigterm_is_killed() {
    check("trap '' TERM INT HUP QUIT XCPU; while :; do :; done", limits(SHORT), "TimedOut(500ms)").await;
}

#[tokio::test]
async fn confined_program_cannot_start_processes() {
    // The shell's message goes to the log; 2 is its exit code.
    check("$0 child; echo started", limits(LONG), "Failed { exit: Some(2) }").await;
    check("exec setsid $0 child", limits(LONG), "Failed { exit: Some(1) }").await;
}

#[tokio::test]
async fn process_group_is_killed_without_seccomp() {
    let hang = "if [ \"$1\" = child ]; then while :; do :; done; fi";
    let check = async |script: &str, limits, expected| {
        check_program(Program::without_filter(&format!("{hang}; {script}")), limits, expected).await;
    };
    // It hangs together with its children.
    check("$0 child & $0 child & wait", limits(SHORT), "TimedOut(500ms)").await;
    // It leaves its children running, with our pipes open.
    check("$0 child & $0 child & echo done", limits(LONG), "ok: done\n").await;
}

#[tokio::test]
async fn memory_limit_ends_process() {
    let program = Program::new("x=0123456789abcdef; while :; do x=$x$x; done");
    let result = program.run(limits(LONG)).await;
    assert!(matches!(result, Err(EngineError::Failed { .. })), "{result:?}");
    program.until_running(0).await;
}

#[tokio::test]
async fn cpu_limit_ends_process() {
    let limits = Limits { cpu: Duration::from_secs(1), ..limits(LONG) };
    check("while :; do :; done", limits, "CpuExhausted(1s)").await;
}

#[tokio::test]
async fn output_limit_kills_process() {
    check("exec yes $0", limits(LONG), "OutputTooLarge { max_bytes: 1048576 }").await;
    // One byte more than the limit, of the script itself.
    let script = format!("exec head -c 1048577 $0\n{}", "#".repeat(1 << 20));
    check(&script, limits(LONG), "OutputTooLarge { max_bytes: 1048576 }").await;
    let complain = "x=complaint; while [ ${#x} -lt 65536 ]; do x=$x$x; done; \
        i=0; while [ $i -lt 80 ]; do echo $x >&2; i=$((i+1)); done";
    check(&format!("echo out; {complain}; echo fine"), limits(LONG), "ok: out\nfine\n").await;
}

/// This happens if its last bytes exceed the limit after its end.
#[tokio::test]
async fn killing_an_ended_process_is_harmless() {
    let program = Program::new("exit 7");
    let permit = program.runner.admission.acquire(Priority::Viewer, 1).await.unwrap();
    let mut child = Child::start(&program.runner.sandbox, &job(&[], limits(LONG)), permit).await.unwrap();
    assert_eq!(child.wait().await.unwrap().code(), Some(7));
    super::kill_and_reap(&mut child).await;
    assert!(child.wait().await.is_err());
}

#[tokio::test]
async fn error_has_the_exit_code_without_stderr() {
    check("echo secret >&2; echo output; exit 1", limits(LONG), "Failed { exit: Some(1) }").await;
    check("kill -9 $$; exit 7", limits(LONG), "Failed { exit: Some(7) }").await;
    let error = Program::new("echo secret >&2; exit 1").run(limits(LONG)).await.unwrap_err();
    assert_eq!(error.to_string(), "the media engine could not read the input");
}

#[tokio::test]
async fn unread_input_is_no_error() {
    let program = Program::new("exec head -c 3");
    let input = Bytes::from(vec![b'a'; 8 << 20]);
    let output = program.runner.run(Job { input, ..job(&[], limits(LONG)) }).await.unwrap();
    assert_eq!(output, "aaa");
    let program = Program::new("exec wc -c");
    let input = Bytes::from(vec![b'a'; 8 << 20]);
    let output = program.runner.run(Job { input, ..job(&[], limits(LONG)) }).await.unwrap();
    assert_eq!(output, "8388608\n");
}

#[tokio::test]
async fn dropped_run_kills_its_process() {
    let program = Program::without_filter("if [ \"$1\" != child ]; then $0 child & fi; while :; do :; done");
    let mut run = Box::pin(program.run(limits(LONG)));
    tokio::select! {
        result = &mut run => panic!("ended by itself: {result:?}"),
        () = program.until_running(2) => {}
    }
    drop(run);
    program.until_running(0).await;
}

#[tokio::test]
async fn failed_run_does_not_affect_others() {
    let good = Program::new("exec cat");
    let bad =
        ["exec yes $0", "exit 3", "while :; do :; done", "x=0123456789abcdef; while :; do x=$x$x; done"];
    let bad = bad.map(Program::new);
    let all_bad = async {
        let [a, b, c, d] = &bad;
        tokio::join!(a.run(limits(SHORT)), b.run(limits(SHORT)), c.run(limits(SHORT)), d.run(limits(SHORT)))
    };
    let all_good = async {
        for n in 0..10 {
            let input = Bytes::from(format!("run {n}"));
            let job = Job { input: input.clone(), ..job(&[], limits(LONG)) };
            assert_eq!(good.runner.run(job).await.unwrap(), input);
        }
    };
    let ((a, b, c, d), ()) = tokio::join!(all_bad, all_good);
    for result in [a, b, c, d] {
        assert!(result.is_err(), "{result:?}");
    }
    for program in &bad {
        program.until_running(0).await;
    }
}

#[tokio::test]
async fn slot_is_released_after_every_outcome() {
    let program = Program::new("case $1 in hang) while :; do :; done;; fail) exit 1;; *) echo fine;; esac");
    let runner = Runner::new(program.runner.sandbox.clone(), Admission::new(NonZeroUsize::new(1)));
    for argument in ["hang", "fail", "fine"] {
        let _ = runner.run(job(&[argument], limits(SHORT))).await;
    }
    let mut left = Box::pin(runner.run(job(&["hang"], limits(LONG))));
    tokio::select! {
        result = &mut left => panic!("ended by itself: {result:?}"),
        () = program.until_running(1) => {}
    }
    drop(left);
    assert_eq!(runner.run(job(&["fine"], limits(LONG))).await.unwrap(), "fine\n");
}

#[tokio::test]
async fn missing_or_unloadable_program_is_a_machine_error() {
    let program = Program::new("exec $0.is.missing");
    let result = program.run(limits(LONG)).await;
    assert!(
        matches!(&result, Err(error @ EngineError::NotUsable(_)) if error.is_machine_fault()),
        "{result:?}"
    );
    fs::remove_file(&program.runner.sandbox.program).unwrap();
    let result = program.run(limits(LONG)).await;
    assert!(matches!(&result, Err(error @ EngineError::Spawn(_)) if error.is_machine_fault()), "{result:?}");
}

#[test]
fn early_sigkill_is_reported_as_out_of_memory() {
    let check = |signal: i32, elapsed: Duration, expected: &str| {
        let ended = ProcessEnd { status: ExitStatus::from_raw(signal), stderr_tail: String::new() };
        let result = ended.classify_end(Path::new("ffmpeg"), "test", &limits(LONG), elapsed, true);
        assert_eq!(format!("{:?}", result.unwrap_err()), expected, "{signal} after {elapsed:?}");
    };
    const KILL: i32 = 9;
    const SEGV: i32 = 11;
    check(KILL, Duration::from_millis(1), "Killed");
    check(KILL, LONG, "CpuExhausted(60s)");
    check(SEGV, Duration::from_millis(1), "Failed { exit: None }");
}

#[tokio::test]
async fn child_inherits_only_pipes() {
    // No shell, which adds names of its own.
    let env = runner(PathBuf::from("/usr/bin/env").canonicalize().unwrap(), Vec::new());
    assert_eq!(env.run(job(&[], limits(LONG))).await.unwrap(), "LANG=C\nPATH=/usr/bin:/bin\n");
    check("pwd; ulimit -n; ulimit -f; ulimit -c; ulimit -t", limits(LONG), "ok: /\n64\n0\n0\n60\n").await;
    // A file of the server without the close-on-exec flag.
    let open = fs::File::open("/proc/self/status").unwrap();
    rustix::io::fcntl_setfd(&open, rustix::io::FdFlags::empty()).unwrap();
    // 3 is the listed folder itself.
    check("exec ls /proc/self/fd", limits(LONG), "ok: 0\n1\n2\n3\n").await;
}

#[tokio::test]
async fn confined_program_accesses_only_its_own_files() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    let output = folder.path().join("output");
    let other = folder.path().join("other");
    fs::write(&secret, "secret").unwrap();
    fs::write(&output, "").unwrap();
    let paths = [&secret, &output, &other].map(|path| path.to_str().unwrap());
    let run = async |script: &str, files: Files| {
        let program = Program::new(script);
        let limits = Limits { file_max: 1 << 10, ..limits(LONG) };
        program.runner.run(Job { files, ..job(&paths, limits) }).await
    };
    let granted = Files { read: vec![secret.clone()], write: Some(output.clone()) };

    assert_eq!(run("exec cat $1", granted.clone()).await.unwrap(), "secret");
    assert!(run("exec cat $1", Files::default()).await.is_err());
    assert!(run("echo x >$1", granted.clone()).await.is_err());
    assert!(run("exec ls ${1%/*}", granted.clone()).await.is_err());
    run("echo kept >$2", granted.clone()).await.unwrap();
    assert!(run("echo x >$2", Files::default()).await.is_err());
    for refused in ["echo x >$3", "exec ln -s $1 $3", "exec mkdir $3", "exec rm $1"] {
        assert!(run(refused, granted.clone()).await.is_err(), "{refused}");
    }
    assert!(run("exec yes >$2", granted).await.is_err(), "the file may not grow without end");

    assert_eq!(fs::read_to_string(&secret).unwrap(), "secret");
    assert!(!other.exists());
    assert_eq!(fs::metadata(&output).unwrap().len(), 1 << 10);
}

/// The lists and playlists that ffmpeg supports never reach it as such. If one did, the confinement would
/// still apply.
#[tokio::test]
async fn ffconcat_script_reads_only_granted_files() {
    let canary = tempfile::NamedTempFile::new().unwrap();
    fs::write(canary.path(), wave(b"canary")).unwrap();
    let list = format!("ffconcat version 1.0\nfile file:{}\n", canary.path().display());
    let arguments = [
        "-loglevel",
        "error",
        "-protocol_whitelist",
        "file,pipe,tcp",
        "-safe",
        "0",
        "-f",
        "concat",
        "-i",
        "pipe:0",
        "-c",
        "copy",
        "-f",
        "u8",
        "pipe:1",
    ];
    let runner = runner(ffmpeg(), Vec::new());
    let run = async |files| {
        let limits = Limits { memory_bytes: 512 << 20, ..limits(LONG) };
        runner.run(Job { input: Bytes::from(list.clone()), files, ..job(&arguments, limits) }).await
    };
    let granted = run(Files { read: vec![canary.path().to_owned()], write: None }).await;
    assert_eq!(granted.unwrap(), "canary", "the list would be obeyed");
    let refused = run(Files::default()).await;
    assert!(matches!(refused, Err(EngineError::Failed { .. })), "{refused:?}");
}

/// A WAVE file with `content` as its 8-bit samples.
fn wave(content: &[u8]) -> Vec<u8> {
    let size = u32::try_from(content.len()).unwrap().to_le_bytes();
    let format = [16, 0, 0, 0, 1, 0, 1, 0, 0x40, 0x1f, 0, 0, 0x40, 0x1f, 0, 0, 1, 0, 8, 0];
    [&b"RIFF"[..], &[0xff; 4], b"WAVEfmt ", &format[..], b"data", &size, content].concat()
}

fn ffmpeg() -> PathBuf {
    let folders = std::env::var_os("PATH").unwrap();
    std::env::split_paths(&folders).find_map(|folder| folder.join("ffmpeg").canonicalize().ok()).unwrap()
}

/// Environment variable of the process that stands in for a server: the program to run.
const STAND_IN: &str = "KINORA_ENGINE_STAND_IN";

/// Not a test, but the server of the next one: runs a program until it is killed. Does nothing when run with
/// the others.
#[tokio::test]
async fn server_helper_process() {
    let Some(program) = std::env::var_os(STAND_IN) else { return };
    let readable = ["/bin", "/usr/bin"].map(PathBuf::from).to_vec();
    let result = runner(PathBuf::from(program), readable).run(job(&[], limits(LONG))).await;
    panic!("not killed: {result:?}");
}

#[tokio::test]
async fn sigkill_of_server_kills_children() {
    let program = Program::new("while :; do :; done");
    #[expect(clippy::disallowed_methods, reason = "a second server process")]
    let mut server = std::process::Command::new(std::env::current_exe().unwrap());
    server
        .args(["--exact", "run::tests::server_helper_process"])
        .env(STAND_IN, &program.runner.sandbox.program);
    let mut server = server.stdout(std::process::Stdio::null()).spawn().unwrap();
    program.until_running(1).await;
    server.kill().unwrap();
    server.wait().unwrap();
    program.until_running(0).await;
    assert!(Path::new(&program.runner.sandbox.program).exists());
}

#[tokio::test]
async fn memory_limit_is_capped_at_available_memory() {
    let program = Program::new("ulimit -d");
    let output = program.run(Limits { memory_bytes: 1 << 50, ..limits(LONG) }).await.unwrap();
    let kib: u64 = String::from_utf8_lossy(&output).trim().parse().unwrap();
    assert!(kib << 10 <= crate::memory::limit_bytes(Path::new("/")).unwrap(), "{kib} KiB");
}
