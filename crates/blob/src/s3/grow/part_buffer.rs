//! A part in memory that is being filled.

use std::ops::Range;

use bytes::{Bytes, BytesMut};

use crate::s3::PartMemory;

/// A part that is being filled. Its memory is one allocation, shared with pieces that are being sent.
#[derive(Debug)]
pub(super) struct PartBuffer {
    /// Its start offset in the object.
    start: u64,
    /// Bytes that were read before, in order, and are immutable now.
    frozen: Vec<Bytes>,
    frozen_len: usize,
    tail: BytesMut,
    len_max: usize,
    memory: PartMemory,
}

impl PartBuffer {
    pub(super) fn new(start: u64, len_max: usize, memory: PartMemory) -> Self {
        let tail = BytesMut::with_capacity(len_max);
        Self { start, frozen: Vec::new(), frozen_len: 0, tail, len_max, memory }
    }

    pub(super) fn start(&self) -> u64 {
        self.start
    }

    pub(super) fn end(&self) -> u64 {
        self.start + self.len() as u64
    }

    pub(super) fn is_full(&self) -> bool {
        self.len() == self.len_max
    }

    fn len(&self) -> usize {
        self.frozen_len + self.tail.len()
    }

    /// Moves the first bytes of `bytes` into the buffer, up to its free capacity.
    pub(super) fn fill_from(&mut self, bytes: &mut Bytes) {
        let head = bytes.split_to(bytes.len().min(self.len_max - self.len()));
        self.tail.extend_from_slice(&head);
    }

    /// The bytes of a range of the object inside this part.
    pub(super) fn bytes(&mut self, range: Range<u64>) -> Vec<Bytes> {
        self.freeze();
        slices(&self.frozen, self.start, range)
    }

    /// All its bytes, and their memory reservation.
    pub(super) fn into_bytes(mut self) -> (Vec<Bytes>, PartMemory) {
        self.freeze();
        (self.frozen, self.memory)
    }

    fn freeze(&mut self) {
        if !self.tail.is_empty() {
            self.frozen_len += self.tail.len();
            self.frozen.push(self.tail.split().freeze());
        }
    }
}

/// Slices a range out of adjacent chunks that begin at `start`.
pub(super) fn slices(chunks: &[Bytes], start: u64, range: Range<u64>) -> Vec<Bytes> {
    let mut at = start;
    let mut cut = Vec::new();
    for chunk in chunks {
        let end = at + chunk.len() as u64;
        let (from, to) = (range.start.max(at), range.end.min(end));
        if from < to {
            let inside = |offset: u64| usize::try_from(offset - at).expect("it lies in bytes in memory");
            cut.push(chunk.slice(inside(from)..inside(to)));
        }
        at = end;
    }
    cut
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use kinora_fair::Budget;

    use super::*;

    #[test]
    fn part_buffer_reads_back_any_range() {
        let memory = Budget::new(1, 0).acquire(None, 1).now_or_never().unwrap();
        let mut part = PartBuffer::new(100, 10, memory);
        let read = |part: &mut PartBuffer, range: Range<u64>| part.bytes(range).concat();
        part.fill_from(&mut Bytes::from_static(b"012"));
        assert_eq!(read(&mut part, 101..103), b"12");
        part.fill_from(&mut Bytes::from_static(b"3456"));
        assert_eq!((part.start(), part.end(), part.is_full()), (100, 107, false));
        assert_eq!(read(&mut part, 100..107), b"0123456");
        assert_eq!(read(&mut part, 102..104), b"23");
        assert_eq!(read(&mut part, 104..104), b"");
        let mut more = Bytes::from_static(b"789abc");
        part.fill_from(&mut more);
        assert_eq!(more, "abc");
        assert!(part.is_full());
        assert_eq!(part.into_bytes().0.concat(), b"0123456789");
    }
}
