//! Reading objects.
//!
//! Thousands of segments a second come out of the page cache, and for these a trip to another thread would cost more than the
//! read. So a read first takes, on the spot, what the kernel can give without waiting for the disk, and only the rest goes to a
//! thread that may wait.

use std::fs::File;
use std::io::IoSliceMut;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, stream};
use rustix::io::ReadWriteFlags;

use super::{OpenFile, blocking};
use crate::{Error, Faults, READ_MAX, Result};

/// The most that is copied on the spot before other tasks get their turn: some 50 µs of work.
const PIECE: usize = 256 << 10;

/// Neighbours closer than this are read in one go: the copy of the gap costs less than a second read.
const GAP_MAX: u64 = 64 << 10;

/// Reads one object of a folder.
#[derive(Debug, Clone)]
pub struct FolderReader {
    open: Arc<OpenFile>,
    faults: Option<Arc<Faults>>,
}

impl FolderReader {
    pub(super) fn new(open: Arc<OpenFile>, faults: Option<Arc<Faults>>) -> Self {
        Self { open, faults }
    }

    pub(crate) fn len(&self) -> u64 {
        self.open.len
    }

    pub(crate) fn as_file(&self) -> &File {
        &self.open.file
    }

    pub(crate) async fn read_at(&self, range: Range<u64>) -> Result<Bytes> {
        if let Some(faults) = &self.faults {
            faults.before_read()?;
        }
        self.check(&range)?;
        let wanted = range.end - range.start;
        let len = usize::try_from(wanted)
            .ok()
            .filter(|_| wanted <= READ_MAX)
            .ok_or(Error::TooLong { len: wanted })?;

        let mut buffer = BytesMut::zeroed(len);
        let mut done = 0;
        while done < len {
            let piece = &mut buffer[done..len.min(done + PIECE)];
            let piece_len = piece.len();
            let got = read_without_waiting(&self.open.file, piece, range.start + done as u64);
            done += got;
            if got < piece_len {
                break;
            }
            if done < len {
                tokio::task::yield_now().await;
            }
        }
        if done < len {
            let open = Arc::clone(&self.open);
            buffer = blocking("read an object", move || {
                open.file.read_exact_at(&mut buffer[done..], range.start + done as u64)?;
                Ok(buffer)
            })
            .await?;
        }
        Ok(buffer.freeze())
    }

    pub(crate) async fn read_many(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        for range in ranges {
            self.check(range)?;
        }
        let runs = runs(ranges);
        let total = runs.iter().map(|run| run.bytes.end - run.bytes.start).fold(0, u64::saturating_add);
        if total > READ_MAX {
            return Err(Error::TooLong { len: total });
        }
        let mut pieces = Vec::with_capacity(ranges.len());
        for run in runs {
            let bytes = self.read_at(run.bytes.clone()).await?;
            for range in &ranges[run.members] {
                let inside = |at: u64| {
                    usize::try_from(at - run.bytes.start).expect("a run is at most READ_MAX bytes long")
                };
                pieces.push(bytes.slice(inside(range.start)..inside(range.end)));
            }
        }
        Ok(pieces)
    }

    pub(crate) fn stream(
        &self,
        range: Range<u64>,
    ) -> Result<impl Stream<Item = Result<Bytes>> + Send + Unpin + use<>> {
        self.check(&range)?;
        let reader = self.clone();
        Ok(Box::pin(stream::try_unfold(range.start, move |start| {
            let reader = reader.clone();
            async move {
                if start == range.end {
                    return Ok(None);
                }
                let end = range.end.min(start.saturating_add(PIECE as u64));
                Ok(Some((reader.read_at(start..end).await?, end)))
            }
        })))
    }

    fn check(&self, range: &Range<u64>) -> Result<()> {
        if range.start <= range.end && range.end <= self.open.len {
            Ok(())
        } else {
            Err(Error::OutOfRange { range: range.clone(), len: self.open.len })
        }
    }
}

/// Copies what the page cache holds from `offset` on, and answers how many bytes that was.
///
/// Fewer than asked for, also none, means: the disk would have to be waited for, or the file system cannot tell, or the read
/// fails. The ordinary read that follows finds out which.
fn read_without_waiting(file: &File, buffer: &mut [u8], offset: u64) -> usize {
    rustix::io::preadv2(file, &mut [IoSliceMut::new(buffer)], offset, ReadWriteFlags::NOWAIT).unwrap_or(0)
}

/// Ranges that are read in one go.
#[derive(Debug, PartialEq, Eq)]
struct Run {
    bytes: Range<u64>,
    /// Their places in the list that was asked for.
    members: Range<usize>,
}

/// Joins each range with the one before it when it begins at most [`GAP_MAX`] behind its end.
///
/// The order stays; a range that begins before the end of its predecessor begins a run of its own.
fn runs(ranges: &[Range<u64>]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (place, range) in ranges.iter().enumerate() {
        match runs.last_mut() {
            Some(run) if range.start.checked_sub(run.bytes.end).is_some_and(|gap| gap < GAP_MAX) => {
                run.bytes.end = range.end;
                run.members.end = place + 1;
            }
            _ => runs.push(Run { bytes: range.clone(), members: place..place + 1 }),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;

    use super::*;

    #[test]
    fn neighbours_with_a_small_gap_are_one_run() {
        let check = |ranges: &[Range<u64>], expected: &[(Range<u64>, Range<usize>)]| {
            let expected: Vec<Run> =
                expected.iter().cloned().map(|(bytes, members)| Run { bytes, members }).collect();
            assert_eq!(runs(ranges), expected, "{ranges:?}");
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

    #[test]
    fn what_the_cache_cannot_give_is_not_an_error() {
        let (read, _write) = std::io::pipe().unwrap();
        let pipe = File::from(OwnedFd::from(read));
        assert_eq!(read_without_waiting(&pipe, &mut [0; 4], 0), 0);
    }
}
