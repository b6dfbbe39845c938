//! The part of the confinement that a child inherits from the thread that starts it.
//!
//! Landlock, capabilities, the no-new-privileges flag and the niceness belong to a thread on Linux, not to a
//! process, and a child inherits those of the thread that forked. So a separate thread is confined first, in
//! ordinary code that may allocate and fail with a reason, and then starts one child. No privilege comes
//! back to it.

use std::io;

use rustix::process::setpriority_process;
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities, set_no_new_privs};

use crate::confine::{Sandbox, landlock};
use crate::job::Files;
use crate::priority::Priority;

/// Confines the calling thread for good. It must do nothing afterwards but start one child.
///
/// Errors: a step failed that this kernel supports; then no child may be started.
pub(crate) fn confine_this_thread(sandbox: &Sandbox, files: &Files, priority: Priority) -> io::Result<()> {
    // Linux, setpriority(2): "the nice value is a per-thread attribute". Only higher values are set, so no
    // privilege is needed; a thread that already has a higher value keeps it.
    let nice = rustix::process::getpriority_process(None)?.max(priority.nice());
    setpriority_process(None, nice)?;
    // From here on no exec can gain privileges, not even root's: prctl(2), PR_SET_NO_NEW_PRIVS.
    set_no_new_privs(true)?;
    landlock::restrict_this_thread(sandbox, files)?;
    // A server that runs as root would pass on the right to read every file and to load modules. With the
    // line above, exec cannot give it back: capabilities(7), cap_bprm_creds_from_file masks by the old set.
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    Ok(())
}
