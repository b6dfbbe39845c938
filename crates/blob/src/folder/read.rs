//! Reads objects.
//!
//! Thousands of segments per second come from the page cache, and for these a switch to another thread
//! costs more than the read. So a read first copies, on the current thread, the bytes that the kernel can
//! return without waiting for the disk. Only the rest is read on a blocking thread.

use std::borrow::Borrow;
use std::fs::File;
use std::io::IoSliceMut;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, stream};
use rustix::io::ReadWriteFlags;

use super::{OpenFile, blocking};
use crate::{Faults, Result, coalesce};

/// The most bytes copied on the current thread before other tasks run: some 50 µs of work.
const CHUNK_LEN_MAX: usize = 256 << 10;

/// Reads one object of a folder.
#[derive(Debug, Clone)]
pub struct FolderReader {
    open_file: Arc<OpenFile>,
    faults: Option<Arc<Faults>>,
}

impl FolderReader {
    pub(super) fn new(open_file: Arc<OpenFile>, faults: Option<Arc<Faults>>) -> Self {
        Self { open_file, faults }
    }

    pub(crate) fn len(&self) -> u64 {
        self.open_file.len
    }

    pub(crate) fn as_file(&self) -> &File {
        &self.open_file.file
    }

    pub(crate) async fn read_at(&self, range: Range<u64>) -> Result<Bytes> {
        if let Some(faults) = &self.faults {
            faults.inject_read_fault()?;
        }
        coalesce::check(&range, self.open_file.len)?;
        read_range(&self.open_file, range).await
    }

    pub(crate) async fn read_many(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let mut results = Vec::with_capacity(ranges.len());
        for merged in coalesce::coalesce(ranges, self.open_file.len)? {
            let bytes = self.read_at(merged.bytes.clone()).await?;
            results.extend(merged.split(&bytes, ranges));
        }
        Ok(results)
    }

    pub(crate) fn stream(
        &self,
        range: Range<u64>,
    ) -> Result<impl Stream<Item = Result<Bytes>> + Send + Unpin + use<>> {
        coalesce::check(&range, self.open_file.len)?;
        let reader = self.clone();
        Ok(Box::pin(stream::try_unfold(range.start, move |start| {
            let reader = reader.clone();
            async move {
                if start == range.end {
                    return Ok(None);
                }
                let end = range.end.min(start.saturating_add(CHUNK_LEN_MAX as u64));
                Ok(Some((reader.read_at(start..end).await?, end)))
            }
        })))
    }
}

/// Reads a range of a file. Errors: `TooLong`.
pub(super) async fn read_range<F>(file: &Arc<F>, range: Range<u64>) -> Result<Bytes>
where
    F: Borrow<File> + Send + Sync + 'static,
{
    let len = coalesce::len_in_memory(&range)?;
    let mut buffer = BytesMut::zeroed(len);
    let mut done = 0;
    while done < len {
        let chunk = &mut buffer[done..len.min(done + CHUNK_LEN_MAX)];
        let chunk_len = chunk.len();
        let got = read_without_waiting(file.as_ref().borrow(), chunk, range.start + done as u64);
        done += got;
        if got < chunk_len {
            break;
        }
        if done < len {
            tokio::task::yield_now().await;
        }
    }
    if done < len {
        let file = Arc::clone(file);
        buffer = blocking("read an object", move || {
            file.as_ref().borrow().read_exact_at(&mut buffer[done..], range.start + done as u64)?;
            Ok(buffer)
        })
        .await?;
    }
    Ok(buffer.freeze())
}

/// Copies bytes from the page cache, starting at `offset`, and returns their number.
///
/// The copy ends early, perhaps at once, where the read would wait for the disk, where the file system
/// cannot tell, or where the read fails. The ordinary read that follows decides.
fn read_without_waiting(file: &File, buffer: &mut [u8], offset: u64) -> usize {
    rustix::io::preadv2(file, &mut [IoSliceMut::new(buffer)], offset, ReadWriteFlags::NOWAIT).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;

    use super::*;

    #[test]
    fn page_cache_miss_is_not_an_error() {
        let (read, _write) = std::io::pipe().unwrap();
        let pipe = File::from(OwnedFd::from(read));
        assert_eq!(read_without_waiting(&pipe, &mut [0; 4], 0), 0);
    }
}
