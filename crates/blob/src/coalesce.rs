//! Joins close ranges into one read.

use std::ops::Range;

use bytes::Bytes;

use crate::{Error, READ_MAX, Result};

/// Ranges with a smaller gap are read together: the copy of the gap costs less than a second read or
/// request.
///
/// Audio and video are interleaved, so a wider gap would read most of the video to get the audio.
const GAP_MAX: u64 = 64 << 10;

/// Ranges that are read together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MergedRange {
    pub(crate) bytes: Range<u64>,
    /// The indexes of its ranges in the request.
    members: Range<usize>,
}

impl MergedRange {
    /// Slices the requested ranges out of the bytes of this merged range.
    pub(crate) fn split(&self, bytes: &Bytes, ranges: &[Range<u64>]) -> impl Iterator<Item = Bytes> {
        let inside =
            |at: u64| usize::try_from(at - self.bytes.start).expect("a run is at most READ_MAX bytes long");
        ranges[self.members.clone()]
            .iter()
            .map(move |range| bytes.slice(inside(range.start)..inside(range.end)))
    }
}

/// Joins each range with the previous one when it begins at most [`GAP_MAX`] after its end.
///
/// The order stays; a range that begins before the end of its predecessor begins a new merged range.
/// Errors: `OutOfRange` for a range outside an object of `len` bytes, `TooLong` when all merged ranges
/// together exceed the limit.
pub(crate) fn coalesce(ranges: &[Range<u64>], len: u64) -> Result<Vec<MergedRange>> {
    for range in ranges {
        check(range, len)?;
    }
    let merged_ranges = merge(ranges);
    let total =
        merged_ranges.iter().map(|merged| merged.bytes.end - merged.bytes.start).fold(0, u64::saturating_add);
    if total > READ_MAX { Err(Error::TooLong { len: total }) } else { Ok(merged_ranges) }
}

/// Rejects a range outside an object of `len` bytes.
pub(crate) fn check(range: &Range<u64>, len: u64) -> Result<()> {
    if range.start <= range.end && range.end <= len {
        Ok(())
    } else {
        Err(Error::OutOfRange { range: range.clone(), len })
    }
}

/// The length of a range in memory. Errors: `TooLong` above [`READ_MAX`].
pub(crate) fn len_in_memory(range: &Range<u64>) -> Result<usize> {
    let len = range.end - range.start;
    usize::try_from(len).ok().filter(|_| len <= READ_MAX).ok_or(Error::TooLong { len })
}

fn merge(ranges: &[Range<u64>]) -> Vec<MergedRange> {
    let mut merged_ranges: Vec<MergedRange> = Vec::new();
    for (index, range) in ranges.iter().enumerate() {
        match merged_ranges.last_mut() {
            Some(merged) if range.start.checked_sub(merged.bytes.end).is_some_and(|gap| gap < GAP_MAX) => {
                merged.bytes.end = range.end;
                merged.members.end = index + 1;
            }
            _ => merged_ranges.push(MergedRange { bytes: range.clone(), members: index..index + 1 }),
        }
    }
    merged_ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_with_small_gap_are_coalesced() {
        let check = |ranges: &[Range<u64>], expected: &[(Range<u64>, Range<usize>)]| {
            let expected: Vec<MergedRange> =
                expected.iter().cloned().map(|(bytes, members)| MergedRange { bytes, members }).collect();
            assert_eq!(coalesce(ranges, 100_000).unwrap(), expected, "{ranges:?}");
        };
        let one = |range: Range<u64>| [range];
        check(&[], &[]);
        check(&one(3..3), &[(3..3, 0..1)]);
        check(&[0..10, 10..20], &[(0..20, 0..2)]);
        check(&[0..10, 10 + GAP_MAX - 1..100_000], &[(0..100_000, 0..2)]);
        check(&[0..10, 10 + GAP_MAX..100_000], &[(0..10, 0..1), (10 + GAP_MAX..100_000, 1..2)]);
        check(&[0..10, 9..20], &[(0..10, 0..1), (9..20, 1..2)]);
        check(&[50..60, 0..10, 20..30], &[(50..60, 0..1), (0..30, 1..3)]);
    }
}
