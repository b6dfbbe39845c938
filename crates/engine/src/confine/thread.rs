//! What a child inherits from the thread that starts it.
//!
//! Landlock, capabilities, the promise to gain no privileges and the niceness belong to a thread on Linux,
//! not to a process, and a child is born with those of the thread that forked. So a thread of its own is
//! confined first, in ordinary code that may allocate and fail with a reason, and then starts one child. No
//! privilege comes back to it.

use std::io;

use rustix::process::setpriority_process;
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities, set_no_new_privs};

use crate::confine::{Cage, landlock};
use crate::job::Files;
use crate::priority::Priority;

/// Confines the calling thread for good. Nothing but the start of one child may happen on it afterwards.
///
/// Errors: a step failed that this kernel knows; then no child may be started.
pub(crate) fn confine_this_thread(cage: &Cage, files: &Files, priority: Priority) -> io::Result<()> {
    // Linux, setpriority(2): "the nice value is a per-thread attribute". Only higher values are asked for, so
    // no privilege is needed; one that started nicer than this stays so.
    let nice = rustix::process::getpriority_process(None)?.max(priority.nice());
    setpriority_process(None, nice)?;
    // From here on no exec can gain anything, not even root's: prctl(2), PR_SET_NO_NEW_PRIVS.
    set_no_new_privs(true)?;
    landlock::restrict_this_thread(cage, files)?;
    // A server that runs as root would hand on the right to read every file and to load modules. With the
    // line above, exec cannot give it back: capabilities(7), cap_bprm_creds_from_file masks by the old set.
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    Ok(())
}
