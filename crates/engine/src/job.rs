//! One run of the program: what it is told, what it may touch, how much it may use.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;

use crate::priority::Priority;

/// One run. Made by the operations of this crate only: every argument is a constant, a number we formatted,
/// or a path we chose. Nothing a client sent is ever an argument.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    /// Name of the operation, for the log.
    pub kind: &'static str,
    pub arguments: Vec<OsString>,
    /// Written to standard input, before what is fed to it while it runs. Then standard input is closed.
    pub input: Bytes,
    pub files: Files,
    pub limits: Limits,
    pub priority: Priority,
    /// One of several tries, or a question: that it fails is an answer, and no news for the log.
    pub is_try: bool,
}

/// The files one run may touch beside the program's own libraries. All must exist when the run starts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Files {
    pub read: Vec<PathBuf>,
    pub write: Option<PathBuf>,
}

/// What one run may use. Passing any of them ends the run, not the server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Wall time the process has for its work; see [`Pace`](crate::run::Pace). The time in which it is
    /// stopped, has nothing to read or nobody takes what it wrote does not count.
    pub deadline: Duration,
    /// Processor time of all its threads together.
    pub cpu: Duration,
    /// Private memory. Admission counts with it, too.
    pub memory_bytes: u64,
    /// Bytes on standard output.
    pub output_max: u64,
    /// Size of the file it may write; 0 where it writes none.
    pub file_max: u64,
}

/// What every run begins with: quiet, and never reading commands from standard input.
const QUIET: [&str; 4] = ["-hide_banner", "-nostdin", "-loglevel", "error"];

/// The command line so far for a run that reads nothing from outside.
pub(crate) fn quiet() -> Vec<OsString> {
    QUIET.iter().map(OsString::from).collect()
}

/// Appends arguments.
pub(crate) fn push<'a>(arguments: &mut Vec<OsString>, more: impl IntoIterator<Item = &'a str>) {
    arguments.extend(more.into_iter().map(OsString::from));
}
