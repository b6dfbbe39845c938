//! How much memory one input may take.

/// The allocator of this binary: the system's, with a count.
pub(crate) use peak_alloc::PeakAlloc as Peak;

/// How much may be held at once: so many bytes, and so many more for each byte that comes in.
#[derive(Clone, Copy)]
pub(crate) struct Bound {
    fixed: usize,
    per_byte: usize,
}

/// Reading a checkpoint: its numbers are shorter than what they become. Serde reserves a MiB for a list at
/// most, and a few lie in one another.
pub(crate) const CHECKPOINT: Bound = Bound { fixed: 4 << 20, per_byte: 128 };

/// Reading a source, and all that is made of it. However small it is, a few bytes can claim as many samples
/// as one track may have, and those are read before it is known that the file is too short for them. The
/// largest are the plan and the playlist of 48 hours.
///
/// For each of its bytes: a copy of the `moov` that doubles while it grows, the tables made of it, the index
/// as bytes and read back, and what is packaged from it.
pub(crate) const SOURCE: Bound = Bound { fixed: 96 << 20, per_byte: 64 };

/// Runs `read` over an input of `len` bytes. Panics when at any time it held more than the bound.
pub(crate) fn within<R>(bound: Bound, len: usize, read: impl FnOnce() -> R) -> R {
    let before = crate::ALLOCATOR.current_usage();
    crate::ALLOCATOR.reset_peak_usage();
    let result = read();
    let held = crate::ALLOCATOR.peak_usage().saturating_sub(before);
    let bound = bound.fixed + bound.per_byte * len;
    assert!(held <= bound, "{len} bytes made the reader hold {held} bytes, more than {bound}");
    result
}
