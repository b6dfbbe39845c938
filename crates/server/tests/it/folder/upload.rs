//! `kinora upload` that is killed and started again.

use bytes::Bytes;
use kinora_testkit::fixture;

use crate::command::{Machine, upload::file};
use crate::support::{Program, text};

const MIB: usize = 1 << 20;

/// A clip, and a box after it that no reader uses.
fn long_clip() -> Bytes {
    let mut file = fixture::two_seconds().to_vec();
    let padding = 24 * MIB;
    file.extend_from_slice(&u32::try_from(padding + 8).unwrap().to_be_bytes());
    file.extend_from_slice(b"free");
    file.extend((0..padding).map(|at| u8::try_from((at ^ (at >> 8)) & 0xff).unwrap()));
    file.into()
}

#[tokio::test]
async fn killed_upload_command_resumes() {
    let machine = Machine::new().await;
    let clip = long_clip();
    file(&machine, "clip.mp4", &clip);
    // A process without the limit creates the schema.
    machine.json(&["workspace", "list"]).await;
    let state = machine.folder().join("state");
    let arguments = ["upload", "clip.mp4", "--workspace", "Development", "--wait", "--json"];
    let with_limit = |bytes: usize| {
        // A file that grows beyond it ends the process with a signal (setrlimit(2), RLIMIT_FSIZE).
        let program = Program::new("prlimit").args([format!("--fsize={bytes}")]);
        let program = program.args([env!("CARGO_BIN_EXE_kinora")]).args(arguments).folder(machine.folder());
        let environment = machine.ground.environment();
        environment.into_iter().fold(program, |program, (name, value)| program.env(name, value))
    };
    for limit in [9 * MIB, 17 * MIB] {
        let killed = with_limit(limit).env("XDG_STATE_HOME", &state).run().await;
        assert_eq!(killed.code, None, "{killed:?}");
    }
    let ended = machine.kinora(&arguments).env("XDG_STATE_HOME", &state).run().await;
    let offset_text = ended.stderr.trim().strip_prefix("resuming: ").expect("it tells where it goes on");
    let stored_bytes: usize =
        offset_text.split(' ').next().and_then(|word| word.parse().ok()).expect("a number of bytes");
    assert!((9 * MIB..=17 * MIB).contains(&stored_bytes), "{stored_bytes}");
    let media = ended.json();
    assert_eq!(text(&media["status"]), "Ready");
    let listed = machine.json(&["media", "list", "--workspace", "Development"]).await;
    assert_eq!(listed["total"], 1, "one file, one media");
    let stored = machine.data_dir().join("objects/source");
    assert_eq!(only_file_below(&stored), clip);
}

fn only_file_below(folder: &std::path::Path) -> Bytes {
    let entries: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let [only] = &entries[..] else { panic!("{entries:?}") };
    if only.is_dir() { only_file_below(only) } else { std::fs::read(only).unwrap().into() }
}
