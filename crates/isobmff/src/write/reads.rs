//! Byte ranges of the objects in which samples lie, and how to read them with few reads.

use std::ops::Range;

/// Some bytes of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteRange {
    /// The number of the object, as the index counts them.
    pub object: u8,
    /// Position of the first one.
    pub offset: u64,
    /// How many; at least 1.
    pub len: u64,
}

impl ByteRange {
    /// Position behind the last byte.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.len)
    }
}

/// One read of the source, and which of its bytes are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    /// What to read.
    pub range: ByteRange,
    /// What to keep of it, in order; positions count from the start of the read.
    pub keep: Vec<Range<u64>>,
}

/// A gap that is cheaper to read over than to seek over. M-20.
pub const READ_GAP_MAX: u64 = 64 * 1024;

impl Read {
    /// Whether a range of the same object begins where this ends, or at most so many bytes behind it.
    fn is_followed_by(&self, range: &ByteRange, gap_max: u64) -> bool {
        let gap = range.offset.checked_sub(self.range.end());
        self.range.object == range.object && gap.is_some_and(|gap| gap <= gap_max)
    }
}

/// Joins ranges into reads: a range that follows the one before it by at most `gap_max` bytes is read with
/// it.
///
/// The order of the bytes stays that of the ranges. A range that lies before the end of the one in front
/// begins a new read.
pub fn read_plan(ranges: &[ByteRange], gap_max: u64) -> Vec<Read> {
    let mut reads: Vec<Read> = Vec::new();
    for range in ranges {
        match reads.last_mut() {
            Some(read) if read.is_followed_by(range, gap_max) => {
                let from = range.offset - read.range.offset;
                read.range.len = from + range.len;
                match read.keep.last_mut() {
                    Some(last) if last.end == from => last.end += range.len,
                    _ => read.keep.push(from..from + range.len),
                }
            }
            _ => reads.push(Read { range: *range, keep: std::iter::once(0..range.len).collect() }),
        }
    }
    reads
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Offset, length, and what is kept, from and to.
    type Expected = (u64, u64, &'static [(u64, u64)]);

    fn check(ranges: &[(u64, u64)], gap_max: u64, expected: &[Expected]) {
        let ranges: Vec<_> =
            ranges.iter().map(|(offset, len)| ByteRange { object: 0, offset: *offset, len: *len }).collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|(offset, len, keep)| Read {
                range: ByteRange { object: 0, offset: *offset, len: *len },
                keep: keep.iter().map(|(from, to)| *from..*to).collect(),
            })
            .collect();
        assert_eq!(read_plan(&ranges, gap_max), expected);
    }

    #[test]
    fn small_gaps_are_read_over_and_large_ones_are_not() {
        check(&[(100, 10), (120, 5), (200, 1)], 10, &[(100, 25, &[(0, 10), (20, 25)]), (200, 1, &[(0, 1)])]);
    }

    #[test]
    fn neighbours_are_kept_as_one_piece() {
        check(&[(0, 10), (10, 10)], 0, &[(0, 20, &[(0, 20)])]);
    }

    #[test]
    fn a_range_that_goes_back_begins_a_new_read() {
        check(
            &[(100, 10), (50, 10), (55, 5)],
            1000,
            &[(100, 10, &[(0, 10)]), (50, 10, &[(0, 10)]), (55, 5, &[(0, 5)])],
        );
    }

    #[test]
    fn ranges_of_two_objects_are_two_reads() {
        let range = |object, offset| ByteRange { object, offset, len: 10 };
        let reads = read_plan(&[range(0, 0), range(1, 10), range(1, 20)], 1000);
        let objects: Vec<_> = reads.iter().map(|read| (read.range.object, read.range.len)).collect();
        assert_eq!(objects, [(0, 10), (1, 20)]);
    }

    #[test]
    fn nothing_to_read_is_no_read() {
        check(&[], 10, &[]);
    }
}
