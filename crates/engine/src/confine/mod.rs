//! The confinement of one child process.
//!
//! It has three stages. [`thread`] confines the thread that starts the child, so that the child inherits it:
//! no new privileges, no capabilities, Landlock, a lower priority. [`exec`] does the little that only the
//! child can do itself, between fork and exec: limits, its end with the server, the filter of system calls.
//! [`report`] measures from outside which parts are really in force.
//!
//! A feature that the kernel lacks is skipped and shown in the report; any other failure stops the start.
//! `hostile` runs a program that tries every known way out; `docs/confinement.md` is its result.

pub(crate) mod exec;
pub(crate) mod filter;
pub(crate) mod landlock;
pub(crate) mod limits;
mod proc_status;
pub(crate) mod report;
pub(crate) mod thread;

#[cfg(test)]
mod hostile;

use std::path::PathBuf;
use std::sync::Arc;

/// Settings that all children of one engine share.
#[derive(Debug, Clone)]
pub(crate) struct Sandbox {
    /// The program, absolute, symbolic links resolved.
    pub program: PathBuf,
    /// Files and directories it may read and run, in addition to the system's libraries.
    pub readable: Vec<PathBuf>,
    /// The filter of system calls; `None` if this crate has none for the processor.
    pub filter: Option<Arc<filter::SeccompFilters>>,
}

impl Sandbox {
    pub(crate) fn new(program: PathBuf, readable: Vec<PathBuf>) -> Self {
        Self { program, readable, filter: filter::build().map(Arc::new) }
    }
}
