//! How much memory one input may take.

/// The allocator of this binary: the system's, with a count.
pub(crate) use peak_alloc::PeakAlloc as Peak;

/// What any input may take, however small: a few bytes can claim as many samples as one track may have, and those are
/// read before it is known that the file is too short for them. The largest are the plan and the playlist of 48 hours.
const FIXED_MAX: usize = 96 << 20;
/// What it may take for each of its bytes: a copy of the `moov` that doubles while it grows, the tables made of it, the
/// index as bytes and read back, and what is packaged from it.
const PER_BYTE_MAX: usize = 64;

/// Runs `read` over an input of `len` bytes. Panics when at any time it held more than the bound.
pub(crate) fn within_bound(len: usize, read: impl FnOnce()) {
    let before = crate::ALLOCATOR.current_usage();
    crate::ALLOCATOR.reset_peak_usage();
    read();
    let held = crate::ALLOCATOR.peak_usage().saturating_sub(before);
    let bound = FIXED_MAX + PER_BYTE_MAX * len;
    assert!(held <= bound, "{len} bytes made the reader hold {held} bytes, more than {bound}");
}
