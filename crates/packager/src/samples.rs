//! Reads the bytes of samples from their objects.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use kinora_blob::{Blob, ObjectKey, ObjectReader};
use kinora_index::Track;
use kinora_isobmff::write::ByteRange;
use tokio::sync::OnceCell;

use crate::{Error, Packaged, Packager};

/// Reads samples of one presentation and opens each object at its first read. Cheap to clone; clones share
/// the open objects.
#[derive(Clone)]
pub(crate) struct SampleReader {
    blob: Blob,
    keys: Arc<[ObjectKey]>,
    /// One cell for each key.
    readers: Arc<[OnceCell<ObjectReader>]>,
}

impl Packager {
    /// A reader of the samples of a presentation.
    pub(crate) fn samples(&self, packaged: &Packaged) -> SampleReader {
        let keys = Arc::clone(&packaged.objects);
        let readers = keys.iter().map(|_| OnceCell::new()).collect();
        SampleReader { blob: self.blob.clone(), keys, readers }
    }
}

impl SampleReader {
    /// Opens the objects of these ranges, so that a missing one is found before a response starts.
    ///
    /// Errors: [`Error::Gone`] without one of them, those of the store.
    pub(crate) async fn open(&self, ranges: &[ByteRange]) -> Result<(), Error> {
        for object_ranges in ranges.chunk_by(|one, next| one.object == next.object) {
            self.object(object_ranges).await?;
        }
        Ok(())
    }

    /// Opens all objects with samples of a track.
    ///
    /// Errors: as for [`SampleReader::open`].
    pub(crate) async fn open_all(&self, track: &Track) -> Result<(), Error> {
        for object in track.samples.objects() {
            self.open(&[ByteRange { object, offset: 0, len: 1 }]).await?;
        }
        Ok(())
    }

    /// The bytes of these ranges, in their order.
    ///
    /// Errors: as for [`SampleReader::open`].
    pub(crate) async fn read(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>, Error> {
        let mut ranges_by_object = ranges.chunk_by(|one, next| one.object == next.object);
        let Some(first) = ranges_by_object.next() else { return Ok(Vec::new()) };
        let mut pieces = self.object(first).await?.read_many(&positions(first)).await?;
        for object_ranges in ranges_by_object {
            pieces.extend(self.object(object_ranges).await?.read_many(&positions(object_ranges)).await?);
        }
        Ok(pieces)
    }

    /// The object of all these ranges.
    async fn object(&self, ranges: &[ByteRange]) -> Result<&ObjectReader, Error> {
        let number = ranges.first().map_or(0, |range| usize::from(range.object));
        let (key, cell) = self.keys.get(number).zip(self.readers.get(number)).ok_or(Error::Gone)?;
        cell.get_or_try_init(async || self.blob.reader(*key).await?.ok_or(Error::Gone)).await
    }
}

/// The byte positions of these ranges in their object.
pub(crate) fn positions(ranges: &[ByteRange]) -> Vec<Range<u64>> {
    ranges.iter().map(|range| range.offset..range.end()).collect()
}
