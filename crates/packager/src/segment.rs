//! Segments: of copied renditions a head made here, then ranges of the objects in which the samples lie; of
//! encoded ones the object that is kept, or will be.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use kinora_blob::{ObjectKey, ObjectReader};
use kinora_index::{IndexId, Rung};
use kinora_isobmff::write::{ByteRange, SegmentHead, iframe_head, segment_head};

use crate::encode::RungLine;
use crate::samples::SampleReader;
use crate::{Asker, Error, Packaged, Packager, Rendition};

/// Bytes that are read and held at once for one viewer of a large segment.
///
/// Small enough to be in the processor's cache still when they are sent. Having the kernel send the ranges
/// from their file, without a copy, was measured too: the many short ranges of an interleaved source make it
/// the slower way (docs/benchmarks.md).
pub(crate) const WINDOW_BYTES: u64 = 256 << 10;
/// Larger segments and pictures are not kept in memory.
pub(crate) const CACHED_BYTES_MAX: u64 = 256 << 10;

/// Names a segment in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    /// Of a copy. The index makes it unique, so sources of equal bytes share it.
    Copied { index: IndexId, rendition: Rendition, number: u32 },
    /// Of an encoded rendition. Each source has its own: what two encodes give need not be equal.
    Kept(ObjectKey),
}

/// One segment, or a picture, ready to be sent in whole or in part.
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
    /// Errors: [`Error::NotInPlan`] for what the plan does not list, [`Error::Gone`] without the source.
    pub async fn segment(
        &self,
        packaged: &Arc<Packaged>,
        rendition: Rendition,
        number: u32,
    ) -> Result<Segment, Error> {
        let key = Key::Copied { index: packaged.id(), rendition, number };
        if let Some(bytes) = self.segments.get(&key).await {
            return Ok(Segment { content: Content::Whole(bytes) });
        }
        let head = head(packaged, rendition, number)?;
        let samples = self.samples(packaged);
        if head.ranges.is_empty() {
            // Silence alone is no longer there either, where its media is not.
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
    /// Segment `number` of a rung that the media offers, counted from 0: kept, or made now. Answered when all
    /// of it is there.
    ///
    /// Errors: [`Error::NotInPlan`] for what the plan does not list, [`Error::Busy`] where too much is asked
    /// for at once, [`Error::NoFrame`] and [`Error::Unmade`] where it cannot be made, [`Error::Gone`] without
    /// the source.
    pub async fn encoded_segment(
        &self,
        packaged: &Arc<Packaged>,
        rung: &Rung,
        number: u32,
        asker: Asker,
    ) -> Result<Segment, Error> {
        if number >= packaged.encoded_count() {
            return Err(Error::NotInPlan);
        }
        let line = self.line(packaged, rung).await?;
        let segment = self.kept_or_made(packaged, &line, number, asker).await?;
        self.note_watched(&line);
        self.make_ahead(packaged, &line, number);
        Ok(segment)
    }

    async fn kept_or_made(
        &self,
        packaged: &Arc<Packaged>,
        line: &Arc<RungLine>,
        number: u32,
        asker: Asker,
    ) -> Result<Segment, Error> {
        let object = line.key(number);
        let key = Key::Kept(object);
        if let Some(bytes) = self.segments.get(&key).await {
            return Ok(Segment { content: Content::Whole(bytes) });
        }
        let looking = line.looking();
        let bytes = match self.blob.reader(object).await? {
            Some(reader) if reader.len() > CACHED_BYTES_MAX => {
                return Ok(Segment { content: Content::Object(reader) });
            }
            Some(reader) => reader.read_at(0..reader.len()).await?,
            None => Box::pin(self.make(packaged, line, number, looking, Some(asker))).await?,
        };
        self.remember(object, &bytes).await;
        Ok(Segment { content: Content::Whole(bytes) })
    }

    /// Keeps a small encoded segment in memory.
    pub(crate) async fn remember(&self, object: ObjectKey, bytes: &Bytes) {
        if bytes.len() as u64 <= CACHED_BYTES_MAX {
            self.segments.insert(Key::Kept(object), bytes.clone()).await;
        }
    }

    /// Segment `number` of the encoded sound of an audio track, counted from 0: kept, or made now.
    ///
    /// Errors: as for a rung.
    pub async fn encoded_audio_segment(
        &self,
        packaged: &Arc<Packaged>,
        audio: u8,
        number: u32,
        asker: Asker,
    ) -> Result<Segment, Error> {
        if number >= packaged.encoded_audio_count(audio) {
            return Err(Error::NotInPlan);
        }
        let line = self.audio_line(packaged, audio).await?;
        let segment = self.kept_or_made(packaged, &line, number, asker).await?;
        self.note_watched(&line);
        self.make_ahead(packaged, &line, number);
        Ok(segment)
    }

    /// What a decoder must know before the first segment of a rung that the media offers.
    ///
    /// Errors: as for a segment.
    pub async fn encoded_init(&self, packaged: &Arc<Packaged>, rung: &Rung) -> Result<Bytes, Error> {
        let line = self.line(packaged, rung).await?;
        Box::pin(self.init_of_rung(packaged, &line)).await
    }
}

fn head(packaged: &Packaged, rendition: Rendition, number: u32) -> Result<SegmentHead, Error> {
    use kinora_isobmff::write::WriteError::NoSuchSegment;

    if rendition.id(packaged.presentation).is_some() {
        return Err(Error::NotInPlan); // encoded ones have no head in front of samples
    }
    let head = match rendition {
        Rendition::IFrames => iframe_head(packaged.index(), packaged.iframes(), number),
        _ => segment_head(packaged.index(), packaged.track(rendition)?, number),
    };
    head.map_err(|error| match error {
        NoSuchSegment { .. } => Error::NotInPlan,
        other => Error::Damaged(Box::new(other)),
    })
}

impl Segment {
    /// What is in memory.
    pub(crate) fn of_bytes(bytes: Bytes) -> Self {
        Self { content: Content::Whole(bytes) }
    }

    /// All of an object.
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

    /// All of it, where it is in memory already.
    pub fn whole(&self) -> Option<Bytes> {
        match &self.content {
            Content::Whole(bytes) => Some(bytes.clone()),
            Content::Copied { .. } | Content::Object(_) => None,
        }
    }

    /// All of it in one piece.
    pub(crate) async fn bytes(&self) -> Result<Bytes, Error> {
        let (head, ranges, samples) = match &self.content {
            Content::Whole(bytes) => return Ok(bytes.clone()),
            Content::Copied { head, samples } => (&head.bytes, &head.ranges, samples),
            Content::Object(reader) => return Ok(reader.read_at(0..reader.len()).await?),
        };
        let pieces = samples.read(ranges).await?;
        let len = head.len() + pieces.iter().map(Bytes::len).sum::<usize>();
        let mut whole = Vec::with_capacity(len);
        whole.extend_from_slice(head);
        pieces.iter().for_each(|piece| whole.extend_from_slice(piece));
        Ok(Bytes::from(whole))
    }

    /// The bytes of a part, counted from the start of the segment, a window in memory at a time.
    ///
    /// What lies past the end is left out. The stream ends after its first error.
    pub fn stream(self, part: Range<u64>) -> impl Stream<Item = Result<Bytes, Error>> + Send + 'static {
        match self.content {
            Content::Whole(bytes) => {
                let at = |position: u64| usize::try_from(position).unwrap_or(usize::MAX).min(bytes.len());
                let part = bytes.slice(at(part.start)..at(part.end.max(part.start)));
                stream::iter([Ok(part)]).boxed()
            }
            Content::Object(reader) => {
                let end = part.end.min(reader.len());
                match reader.stream(part.start.min(end)..end) {
                    Ok(pieces) => pieces.map(|piece| piece.map_err(Error::from)).boxed(),
                    Err(error) => stream::iter([Err(Error::from(error))]).boxed(),
                }
            }
            Content::Copied { head, samples } => {
                let (of_head, ranges) = head.part(part);
                let head = Bytes::from(head.bytes).slice(of_head);
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
    let mut room = 0;
    for range in ranges {
        let mut rest = *range;
        while 0 < rest.len {
            if room == 0 {
                windows.push(Vec::new());
                room = WINDOW_BYTES;
            }
            let taken = room.min(rest.len);
            if let Some(window) = windows.last_mut() {
                window.push(ByteRange { len: taken, ..rest });
            }
            rest = ByteRange { offset: rest.offset + taken, len: rest.len - taken, ..rest };
            room -= taken;
        }
    }
    windows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_hold_all_bytes_in_order_and_none_is_too_large() {
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
