//! The resource limits of one child.

use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit};

use crate::job::Limits;

/// Address space beyond the private memory: code, read-only data and the reserved, unused heaps of threads.
const ADDRESS_SPACE_EXTRA_BYTES: u64 = 4 << 30;

/// Open files: standard streams, one input, one output, and the libraries, which are loaded one by one.
const OPEN_FILES_MAX: u64 = 64;

/// The limits in the kernel's form, made before the fork.
///
/// There is no limit on processes: the kernel counts them for each user, not for each job. A limit for one
/// child would count the server's own threads and those of every other child.
pub(crate) fn kernel_limits(limits: &Limits) -> [(Resource, Rlimit); 6] {
    let memory = limits.memory_bytes;
    [
        limit(Resource::Data, memory),
        limit(Resource::As, memory.saturating_add(ADDRESS_SPACE_EXTRA_BYTES)),
        cpu_limit(whole_seconds(limits.cpu)),
        limit(Resource::Fsize, limits.file_max),
        limit(Resource::Nofile, OPEN_FILES_MAX),
        limit(Resource::Core, 0),
    ]
}

/// At most our own limit: raising one needs a privilege, and staying below it needs none.
fn limit(resource: Resource, requested: u64) -> (Resource, Rlimit) {
    let max = getrlimit(resource).maximum.map_or(requested, |ours| ours.min(requested));
    (resource, Rlimit { current: Some(max), maximum: Some(max) })
}

/// Processor seconds between SIGXCPU at the limit and SIGKILL. ffmpeg ends by itself on the first, on all
/// its threads, which takes one or two.
const CPU_GRACE_S: u64 = 5;

/// The limit with its grace time.
fn cpu_limit(seconds: u64) -> (Resource, Rlimit) {
    let (resource, hard) = limit(Resource::Cpu, seconds.saturating_add(CPU_GRACE_S));
    let current = hard.maximum.map(|max| max.min(seconds));
    (resource, Rlimit { current, ..hard })
}

/// Rounded up, at least one: the kernel counts whole seconds, and 0 would end the process at once.
fn whole_seconds(time: Duration) -> u64 {
    time.as_secs().saturating_add(u64::from(time.subsec_nanos() > 0)).max(1)
}
