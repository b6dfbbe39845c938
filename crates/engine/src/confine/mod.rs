//! The cage of one child process.
//!
//! Three places, three times. [`thread`] confines the thread that starts the child, so that the child is born
//! with it: no new privileges, no capabilities, Landlock, a lower priority. [`exec`] is the little that only
//! the child can do for itself, between fork and exec: limits, its end with ours, the filter of system calls.
//! [`report`] measures from outside what of all this is really in force.
//!
//! Whatever the kernel lacks is left out and shows in the report; everything else that fails stops the start.
//! `hostile` runs a program that tries every known way out; `docs/confinement.md` is its result.

pub(crate) mod exec;
pub(crate) mod filter;
pub(crate) mod landlock;
pub(crate) mod limits;
pub(crate) mod report;
mod seen;
pub(crate) mod thread;

#[cfg(test)]
mod hostile;

use std::path::PathBuf;
use std::sync::Arc;

/// What all children of one engine have in common.
#[derive(Debug, Clone)]
pub(crate) struct Cage {
    /// The program, absolute, symbolic links resolved.
    pub program: PathBuf,
    /// Files and directories it may read and run beside the system's libraries.
    pub readable: Vec<PathBuf>,
    /// The filter of system calls; `None` where this crate knows none for the processor.
    pub filter: Option<Arc<filter::Filter>>,
}

impl Cage {
    pub(crate) fn new(program: PathBuf, readable: Vec<PathBuf>) -> Self {
        Self { program, readable, filter: filter::build().map(Arc::new) }
    }
}
