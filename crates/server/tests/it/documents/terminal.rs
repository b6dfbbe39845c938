//! A terminal of the reader: blocks of a document, run by bash in the folder of a machine.

use std::ffi::OsString;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::command::Machine;
use crate::support::{Program, Run};

/// Functions of the session: `curl` also appends its status to a file and stores its response in one. It
/// reads no settings of the developer.
const PRELUDE: &str = r#"set -euo pipefail
curl() {
  command curl -q --noproxy '*' --no-progress-meter --write-out '%{stderr}%{http_code}\n' "$@" 2>>"$STATUSES" |
    tee "$LAST_RESPONSE"
}
"#;

/// The address of the server in the documents.
const EXAMPLE_PORT: &str = ":8080";

/// Commands that wait to be run, with the status that each `curl` must get.
pub(crate) struct Terminal<'a> {
    machine: &'a Machine,
    replacements: Vec<(String, String)>,
    script: String,
    /// The expected status of each `curl`, in order.
    statuses: Vec<String>,
    /// Whether the commands see the settings of the machine without a command of the document.
    has_settings: bool,
}

impl<'a> Terminal<'a> {
    pub(crate) fn new(machine: &'a Machine) -> Self {
        let port = format!(":{}", machine.address.port());
        let replacements =
            vec![(EXAMPLE_PORT.to_owned(), port), ("0.0.0.0".to_owned(), "127.0.0.1".to_owned())];
        let (script, statuses) = (PRELUDE.to_owned(), Vec::new());
        Self { machine, replacements, script, statuses, has_settings: true }
    }

    /// Removes the settings of database and object store: the document must set them.
    pub(crate) fn without_settings(self) -> Self {
        Self { has_settings: false, ..self }
    }

    /// Replaces a name of the examples in the blocks that follow.
    pub(crate) fn replace(mut self, example: &str, value: &str) -> Self {
        self.replacements.push((example.to_owned(), value.to_owned()));
        self
    }

    /// Replaces `ID:SECRET` by a new access token.
    pub(crate) async fn with_token(self) -> Self {
        let token = self.machine.token("Development", "read-write").await;
        self.replace("ID:SECRET", &format!("{}:{}", token.id, token.secret))
    }

    /// Appends a block. Each `curl` must succeed, or get the status in the comment at the end of its line.
    pub(crate) fn paste(mut self, block: &str) -> Self {
        let replaced = self
            .replacements
            .iter()
            .fold(block.to_owned(), |text, (example, value)| text.replace(example, value));
        self.statuses.extend(replaced.lines().flat_map(expected_statuses));
        self.script += &replaced;
        self
    }

    /// Starts the last line with `exec`, so that a signal reaches its program.
    pub(crate) fn exec_last_command(self) -> Program {
        let script = self.script.trim_end();
        let (rest, last) = script.rsplit_once('\n').expect("the script has several lines");
        self.bash(&format!("{rest}\nexec {last}\n"))
    }

    /// Runs the commands. Panics if one fails, or if a response has another status than the document says.
    pub(crate) async fn run(self) -> Run {
        let (statuses, last) =
            (self.machine.folder().join("statuses"), self.machine.folder().join("last-response"));
        std::fs::write(&statuses, "").expect("the folder of the machine can be written");
        let run =
            self.bash(&self.script).env("STATUSES", &statuses).env("LAST_RESPONSE", &last).run().await.ok();
        let found = std::fs::read_to_string(&statuses).expect("it was written");
        let found: Vec<_> =
            found.lines().map(|line| if line.starts_with('2') { "2xx" } else { line }).collect();
        assert_eq!(found, self.statuses, "{}\n{run:?}", self.script);
        run
    }

    /// bash in the folder of the machine, which is also the home of its user.
    fn bash(&self, script: &str) -> Program {
        let program = Program::new("bash").args(["-c", script]).folder(self.machine.folder());
        let program = match self.has_settings {
            true => self.machine.with_environment(program),
            false => ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]
                .iter()
                .fold(program, |program, name| program.without(name)),
        };
        program.env("PATH", self.path()).env("HOME", self.machine.folder()).without("XDG_STATE_HOME")
    }

    /// `PATH` with `kinora`, and with the Python of the tests if there is one (`scripts/python.sh`).
    fn path(&self) -> OsString {
        let own = self.machine.folder().join("bin");
        std::fs::create_dir_all(&own).expect("the folder of the machine can be written");
        let _ = symlink(env!("CARGO_BIN_EXE_kinora"), own.join("kinora")); // exists after the first call
        let python = std::env::var_os("KINORA_TEST_PYTHON");
        let python = python.and_then(|python| Some(Path::new(&python).parent()?.to_owned()));
        let others = std::env::var_os("PATH").unwrap_or_default();
        let all = [own].into_iter().chain(python).chain(std::env::split_paths(&others));
        std::env::join_paths(all.collect::<Vec<PathBuf>>()).expect("no folder has a colon")
    }
}

/// The status of each `curl` in the line: that of its comment, else success. `curl` must be a word of its
/// own, or follow `$(`.
fn expected_statuses(line: &str) -> Vec<String> {
    let (command, comment) = line.split_once(" # ").unwrap_or((line, ""));
    let is_status = |status: &&str| status.len() == 3 && status.bytes().all(|byte| byte.is_ascii_digit());
    let status = comment.trim_start().get(..3).filter(is_status).unwrap_or("2xx");
    let is_curl = |word: &&str| *word == "curl" || word.ends_with("(curl");
    command.split_whitespace().filter(is_curl).map(|_| status.to_owned()).collect()
}
