//! Byte ranges of the objects that contain samples. Merges the ranges into few reads.

use std::ops::Range;

/// A range of bytes of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteRange {
    /// The number of the object in the index.
    pub object: u8,
    /// Position of the first byte.
    pub offset: u64,
    /// Length in bytes; at least 1.
    pub len: u64,
}

impl ByteRange {
    /// Position after the last byte.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.len)
    }
}

/// One read of the source, and the needed parts of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedRead {
    /// The range to read.
    pub range: ByteRange,
    /// The needed parts of it, in order; positions count from the start of the read.
    pub needed_ranges: Vec<Range<u64>>,
}

/// Maximum gap in bytes that is cheaper to read than to seek. M-20.
pub const READ_GAP_MAX: u64 = 64 * 1024;

impl PlannedRead {
    /// Whether a range of the same object begins at the end of this read, or at most `gap_max` bytes after
    /// it.
    fn is_followed_by(&self, range: &ByteRange, gap_max: u64) -> bool {
        let gap = range.offset.checked_sub(self.range.end());
        self.range.object == range.object && gap.is_some_and(|gap| gap <= gap_max)
    }
}

/// Merges ranges into reads: a range that follows the previous one within `gap_max` bytes joins its read.
///
/// The order of the bytes stays that of the ranges. A range that begins before the end of the previous one
/// starts a new read.
pub fn read_plan(ranges: &[ByteRange], gap_max: u64) -> Vec<PlannedRead> {
    let mut reads: Vec<PlannedRead> = Vec::new();
    for range in ranges {
        match reads.last_mut() {
            Some(read) if read.is_followed_by(range, gap_max) => {
                let from = range.offset - read.range.offset;
                read.range.len = from + range.len;
                match read.needed_ranges.last_mut() {
                    Some(last) if last.end == from => last.end += range.len,
                    _ => read.needed_ranges.push(from..from + range.len),
                }
            }
            _ => reads
                .push(PlannedRead { range: *range, needed_ranges: std::iter::once(0..range.len).collect() }),
        }
    }
    reads
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Offset, length, and the needed parts, from and to.
    type Expected = (u64, u64, &'static [(u64, u64)]);

    fn check(ranges: &[(u64, u64)], gap_max: u64, expected: &[Expected]) {
        let ranges: Vec<_> =
            ranges.iter().map(|(offset, len)| ByteRange { object: 0, offset: *offset, len: *len }).collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|(offset, len, needed_ranges)| PlannedRead {
                range: ByteRange { object: 0, offset: *offset, len: *len },
                needed_ranges: needed_ranges.iter().map(|(from, to)| *from..*to).collect(),
            })
            .collect();
        assert_eq!(read_plan(&ranges, gap_max), expected);
    }

    #[test]
    fn small_gaps_between_ranges_are_merged_into_one_read() {
        check(&[(100, 10), (120, 5), (200, 1)], 10, &[(100, 25, &[(0, 10), (20, 25)]), (200, 1, &[(0, 1)])]);
    }

    #[test]
    fn adjacent_ranges_are_merged() {
        check(&[(0, 10), (10, 10)], 0, &[(0, 20, &[(0, 20)])]);
    }

    #[test]
    fn backward_range_begins_a_new_read() {
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
    fn empty_ranges_give_no_reads() {
        check(&[], 10, &[]);
    }
}
