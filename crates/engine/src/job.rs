//! One run of the program: its arguments, files and limits.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;

use crate::priority::Priority;

/// One run. Only operations of this crate create it: every argument is a constant, a number we formatted, or
/// a path we chose. Input of a client is never an argument.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    /// Name of the operation, for the log.
    pub kind: &'static str,
    pub arguments: Vec<OsString>,
    /// Written to standard input, before the feed of the run. Then standard input is closed.
    pub input: Bytes,
    pub files: Files,
    pub limits: Limits,
    pub priority: Priority,
    /// Whether it is one of several tries, or a query: its failure is an expected result, and is not logged.
    pub is_probe: bool,
}

/// The files one run may use in addition to the program's own libraries. All must exist when the run starts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Files {
    pub read: Vec<PathBuf>,
    pub write: Option<PathBuf>,
}

/// Limits of one run. Exceeding any of them ends the run, not the server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Wall time of the process for its work; see [`TimeoutKind`](crate::run::TimeoutKind). Excludes the time
    /// while it is paused, has no input, or its output is not taken.
    pub deadline: Duration,
    /// Processor time of all its threads together.
    pub cpu: Duration,
    /// Private memory. Admission reserves it.
    pub memory_bytes: u64,
    /// Bytes on standard output.
    pub output_max: u64,
    /// Size of the file it may write; 0 if it writes none.
    pub file_max: u64,
}

/// First arguments of every run: quiet, and no commands from standard input.
const QUIET: [&str; 4] = ["-hide_banner", "-nostdin", "-loglevel", "error"];

/// Start of a command line for a run without external input.
pub(crate) fn quiet_arguments() -> Vec<OsString> {
    QUIET.iter().map(OsString::from).collect()
}

/// Appends arguments.
pub(crate) fn push<'a>(arguments: &mut Vec<OsString>, more: impl IntoIterator<Item = &'a str>) {
    arguments.extend(more.into_iter().map(OsString::from));
}
