//! Allocator settings: how the process returns memory to the system.

#![cfg_attr(
    all(target_os = "linux", target_env = "gnu"),
    expect(unsafe_code, reason = "the allocator's settings are reached by a C function alone")
)]

/// Most bytes of freed memory at the end of a heap that are not returned to the system (D-0068).
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const TRIM_THRESHOLD: libc::c_int = 8 << 20;

/// An allocation of at least this many bytes has a mapping of its own, which is returned as soon as it is
/// freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MMAP_THRESHOLD: libc::c_int = 2 << 20;

/// Heaps for each core. The allocator makes up to eight, and each retains its freed memory: 85 MiB more
/// during 32 transfers of large files.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const HEAPS_PER_CORE: usize = 1;
/// Fewest heaps, because threads that wait for the disk allocate too.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const HEAPS_MIN: usize = 2;

/// Makes the C library's allocator reuse freed memory. Call it once, before any thread starts.
///
/// By default it returns a buffer of 128 KiB to the kernel as soon as it is free, and the kernel fills the
/// next one with zeros page by page: a fifth of the cost of an upload. Other allocators are not changed.
pub(crate) fn tune_allocator() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let heaps =
            libc::c_int::try_from((HEAPS_PER_CORE * cores).max(HEAPS_MIN)).unwrap_or(libc::c_int::MAX);
        for (what, value) in [
            (libc::M_MMAP_THRESHOLD, MMAP_THRESHOLD),
            (libc::M_TRIM_THRESHOLD, TRIM_THRESHOLD),
            (libc::M_ARENA_MAX, heaps),
        ] {
            // SAFETY: mallopt(3) takes two numbers and may be called at any time; an unsupported value
            // changes nothing.
            unsafe { libc::mallopt(what, value) };
        }
    }
}
