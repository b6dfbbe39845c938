//! How the process gives memory back to the system.

#![cfg_attr(
    all(target_os = "linux", target_env = "gnu"),
    expect(unsafe_code, reason = "the allocator's settings are reached by a C function alone")
)]

/// Freed memory at the end of a heap is kept up to this many bytes (D-0068).
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const KEPT_MAX: libc::c_int = 8 << 20;

/// An allocation from this many bytes on has a mapping of its own, which goes back as soon as it is freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const OWN_MAPPING_FROM: libc::c_int = 2 << 20;

/// Heaps for each core. The allocator makes up to eight, and each keeps what was freed in it: 85 MiB more
/// beside 32 transfers of large files.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const HEAPS_PER_CORE: usize = 1;
/// At least so many, for threads that wait for the disk allocate too.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const HEAPS_MIN: usize = 2;

/// Lets the C library's allocator keep what is soon wanted again. Call it once, before any thread starts.
///
/// By default it gives a buffer of 128 KiB back to the kernel the moment it is free, and the next one is
/// filled with zeros page by page: a fifth of what an upload costs. Other allocators are left as they are.
pub(crate) fn keep_what_is_soon_wanted() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let heaps =
            libc::c_int::try_from((HEAPS_PER_CORE * cores).max(HEAPS_MIN)).unwrap_or(libc::c_int::MAX);
        for (what, value) in [
            (libc::M_MMAP_THRESHOLD, OWN_MAPPING_FROM),
            (libc::M_TRIM_THRESHOLD, KEPT_MAX),
            (libc::M_ARENA_MAX, heaps),
        ] {
            // SAFETY: mallopt(3) takes two numbers and may be called at any time; a value it does not take
            // changes nothing.
            unsafe { libc::mallopt(what, value) };
        }
    }
}
