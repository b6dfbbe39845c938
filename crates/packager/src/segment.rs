//! Segments. A copied one is a head made here, then ranges of the objects with the samples. An encoded one
//! is a stored object, which a run may have to make first.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use kinora_blob::{ObjectKey, ObjectReader};
use kinora_index::{IndexId, Rung};
use kinora_isobmff::write::{ByteRange, SegmentHead, iframe_head, segment_head};

use crate::encode::ActiveRendition;
use crate::samples::SampleReader;
use crate::{EncodedAudio, Error, Packaged, Packager, PlaybackClient, Rendition};

/// Bytes that are read and buffered at once for one viewer of a large segment.
///
/// Small enough to be still in the processor's cache when they are sent. Sending the ranges from the file by
/// the kernel, without a copy, was measured too: it is slower, because an interleaved source has many short
/// ranges (docs/benchmarks.md).
pub(crate) const WINDOW_BYTES: u64 = 256 << 10;
/// Larger segments and images are not cached in memory.
pub(crate) const CACHED_BYTES_MAX: u64 = 256 << 10;

/// Key of a cached segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum CacheKey {
    /// Of a copy. The index makes it unique, so sources of equal bytes share it.
    Copied { index: IndexId, rendition: Rendition, number: u32 },
    /// Of an encoded rendition. Each source has its own, because two encodes may differ.
    Encoded(ObjectKey),
}

/// A segment or image, ready to be sent in full or by ranges.
pub struct Segment {
    content: Content,
}

enum Content {
    Whole(Bytes),
    Copied { head: SegmentHead, samples: SampleReader },
    Object(ObjectReader),
}

impl Packager {
    /// Segment `number` of a copied rendition, counted from 0.
    ///
    /// Errors: [`Error::NotListed`] for a segment that the plan does not list, [`Error::Gone`] without the
    /// source.
    pub async fn segment(
        &self,
        packaged: &Arc<Packaged>,
        rendition: Rendition,
        number: u32,
    ) -> Result<Segment, Error> {
        let key = CacheKey::Copied { index: packaged.id(), rendition, number };
        if let Some(bytes) = self.segments.get(&key).await {
            return Ok(Segment { content: Content::Whole(bytes) });
        }
        let head = head(packaged, rendition, number)?;
        let samples = self.samples(packaged);
        if head.ranges.is_empty() {
            // Even a segment of silence must fail when its media is gone.
            samples.open_all(packaged.track(rendition)?).await?;
        }
        samples.open(&head.ranges).await?;
        let is_small = head.total_len <= CACHED_BYTES_MAX;
        let segment = Segment { content: Content::Copied { head, samples } };
        if !is_small {
            return Ok(segment);
        }
        let bytes = segment.bytes().await?;
        self.segments.insert(key, bytes.clone()).await;
        Ok(Segment { content: Content::Whole(bytes) })
    }
}

impl Packager {
    /// Segment `number` of a rung that the media offers, counted from 0, stored or encoded now. Returns when
    /// all of it is there.
    ///
    /// Errors: [`Error::NotListed`] for a segment that the plan does not list, [`Error::Busy`] for too many
    /// requests at once, [`Error::NoFrame`] and [`Error::EncodeFailed`] if it cannot be encoded,
    /// [`Error::Gone`] without the source.
    pub async fn encoded_segment(
        &self,
        packaged: &Arc<Packaged>,
        rung: &Rung,
        number: u32,
        client: PlaybackClient,
    ) -> Result<Segment, Error> {
        if number >= packaged.rung_segment_count() {
            return Err(Error::NotListed);
        }
        let rendition = self.active_rendition(packaged, rung).await?;
        let segment = self.stored_or_encoded(packaged, &rendition, number, client).await?;
        self.record_watched(&rendition);
        self.start_prefetch(packaged, &rendition, number);
        Ok(segment)
    }

    async fn stored_or_encoded(
        &self,
        packaged: &Arc<Packaged>,
        rendition: &Arc<ActiveRendition>,
        number: u32,
        client: PlaybackClient,
    ) -> Result<Segment, Error> {
        let object = rendition.key(number);
        let key = CacheKey::Encoded(object);
        if let Some(bytes) = self.segments.get(&key).await {
            return Ok(Segment { content: Content::Whole(bytes) });
        }
        let stored_version = rendition.stored_version();
        let bytes = match self.blob.reader(object).await? {
            Some(reader) if reader.len() > CACHED_BYTES_MAX => {
                return Ok(Segment { content: Content::Object(reader) });
            }
            Some(reader) => reader.read_at(0..reader.len()).await?,
            None => {
                Box::pin(self.encode_or_join(packaged, rendition, number, stored_version, Some(client)))
                    .await?
            }
        };
        self.cache_segment(object, &bytes).await;
        Ok(Segment { content: Content::Whole(bytes) })
    }

    /// Caches a small encoded segment in memory.
    pub(crate) async fn cache_segment(&self, object: ObjectKey, bytes: &Bytes) {
        if bytes.len() as u64 <= CACHED_BYTES_MAX {
            self.segments.insert(CacheKey::Encoded(object), bytes.clone()).await;
        }
    }

    /// Segment `number` of an encoded rendition of an audio track, counted from 0, stored or encoded now.
    ///
    /// Errors: as for a rung.
    pub async fn encoded_audio_segment(
        &self,
        packaged: &Arc<Packaged>,
        audio: impl Into<EncodedAudio>,
        number: u32,
        client: PlaybackClient,
    ) -> Result<Segment, Error> {
        let audio = audio.into();
        if number >= packaged.aac_segment_count(audio.track) {
            return Err(Error::NotListed);
        }
        let rendition = self.active_audio(packaged, audio).await?;
        let segment = self.stored_or_encoded(packaged, &rendition, number, client).await?;
        self.record_watched(&rendition);
        self.start_prefetch(packaged, &rendition, number);
        Ok(segment)
    }

    /// The init segment of a rung that the media offers.
    ///
    /// Errors: as for a segment.
    pub async fn encoded_init(&self, packaged: &Arc<Packaged>, rung: &Rung) -> Result<Bytes, Error> {
        let rendition = self.active_rendition(packaged, rung).await?;
        Box::pin(self.init_of_rung(packaged, &rendition)).await
    }
}

fn head(packaged: &Packaged, rendition: Rendition, number: u32) -> Result<SegmentHead, Error> {
    use kinora_isobmff::write::WriteError::NoSuchSegment;

    if rendition.id(packaged.presentation).is_some() {
        return Err(Error::NotListed); // encoded ones have no head in front of samples
    }
    let head = match rendition {
        Rendition::IFrames => iframe_head(packaged.index(), packaged.iframes(), number),
        _ => segment_head(packaged.index(), packaged.track(rendition)?, number),
    };
    head.map_err(|error| match error {
        NoSuchSegment { .. } => Error::NotListed,
        other => Error::Damaged(Box::new(other)),
    })
}

impl Segment {
    /// A segment from bytes in memory.
    pub(crate) fn of_bytes(bytes: Bytes) -> Self {
        Self { content: Content::Whole(bytes) }
    }

    /// A segment that is all of an object.
    pub(crate) fn of_object(reader: ObjectReader) -> Self {
        Self { content: Content::Object(reader) }
    }

    /// Its length in bytes, known before any is read.
    pub fn total_len(&self) -> u64 {
        match &self.content {
            Content::Whole(bytes) => bytes.len() as u64,
            Content::Copied { head, .. } => head.total_len,
            Content::Object(reader) => reader.len(),
        }
    }

    /// All bytes, if they are already in memory.
    pub fn whole(&self) -> Option<Bytes> {
        match &self.content {
            Content::Whole(bytes) => Some(bytes.clone()),
            Content::Copied { .. } | Content::Object(_) => None,
        }
    }

    /// All bytes in one piece.
    pub(crate) async fn bytes(&self) -> Result<Bytes, Error> {
        let (head, ranges, samples) = match &self.content {
            Content::Whole(bytes) => return Ok(bytes.clone()),
            Content::Copied { head, samples } => (&head.bytes, &head.ranges, samples),
            Content::Object(reader) => return Ok(reader.read_at(0..reader.len()).await?),
        };
        let pieces = samples.read(ranges).await?;
        let len = head.len() + pieces.iter().map(Bytes::len).sum::<usize>();
        let mut buffer = Vec::with_capacity(len);
        buffer.extend_from_slice(head);
        pieces.iter().for_each(|piece| buffer.extend_from_slice(piece));
        Ok(Bytes::from(buffer))
    }

    /// The bytes of a range, counted from the start of the segment, with one window in memory at a time.
    ///
    /// Omits bytes past the end. The stream ends after its first error.
    pub fn stream(self, range: Range<u64>) -> impl Stream<Item = Result<Bytes, Error>> + Send + 'static {
        match self.content {
            Content::Whole(bytes) => {
                let at = |position: u64| usize::try_from(position).unwrap_or(usize::MAX).min(bytes.len());
                let part = bytes.slice(at(range.start)..at(range.end.max(range.start)));
                stream::iter([Ok(part)]).boxed()
            }
            Content::Object(reader) => {
                let end = range.end.min(reader.len());
                match reader.stream(range.start.min(end)..end) {
                    Ok(pieces) => pieces.map(|piece| piece.map_err(Error::from)).boxed(),
                    Err(error) => stream::iter([Err(Error::from(error))]).boxed(),
                }
            }
            Content::Copied { head, samples } => {
                let (head_range, ranges) = head.byte_range(range);
                let head = Bytes::from(head.bytes).slice(head_range);
                let windows = stream::iter(windows(&ranges)).then(move |window| {
                    let samples = samples.clone();
                    async move { samples.read(&window).await }
                });
                let pieces = windows.flat_map(|read| match read {
                    Ok(pieces) => stream::iter(pieces).map(Ok).left_stream(),
                    Err(error) => stream::iter([Err(error)]).right_stream(),
                });
                stream::iter((!head.is_empty()).then_some(Ok(head))).chain(pieces).boxed()
            }
        }
    }
}

/// Ranges in the same order, cut and grouped so that a group has at most [`WINDOW_BYTES`].
fn windows(ranges: &[ByteRange]) -> Vec<Vec<ByteRange>> {
    let mut windows: Vec<Vec<ByteRange>> = Vec::new();
    let mut window_left = 0;
    for range in ranges {
        let mut rest = *range;
        while 0 < rest.len {
            if window_left == 0 {
                windows.push(Vec::new());
                window_left = WINDOW_BYTES;
            }
            let len = window_left.min(rest.len);
            if let Some(window) = windows.last_mut() {
                window.push(ByteRange { len, ..rest });
            }
            rest = ByteRange { offset: rest.offset + len, len: rest.len - len, ..rest };
            window_left -= len;
        }
    }
    windows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_windows_cover_all_bytes_within_size_limit() {
        let range = |offset, len| ByteRange { object: 0, offset, len };
        let ranges = [range(10, 5), range(100, 3 * WINDOW_BYTES), range(0, WINDOW_BYTES - 5), range(7, 1)];
        let windows = windows(&ranges);
        for window in &windows {
            assert!(window.iter().map(|range| range.len).sum::<u64>() <= WINDOW_BYTES);
        }
        let flat: Vec<_> = windows.into_iter().flatten().collect();
        assert_eq!(flat[0], range(10, 5));
        assert_eq!(flat[1], range(100, WINDOW_BYTES - 5));
        assert_eq!(flat.last(), Some(&range(7, 1)));
        let total: u64 = flat.iter().map(|range| range.len).sum();
        assert_eq!(total, ranges.iter().map(|range| range.len).sum::<u64>());
        assert!(super::windows(&[]).is_empty());
    }
}
