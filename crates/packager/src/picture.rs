//! Pictures: one frame of a source, made when somebody asks, then kept as an object.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use kinora_blob::{ObjectKey, PictureHash, Prefix};
use kinora_domain::SourceId;
use kinora_engine::{EngineError, PictureFormat, PictureSpec};
use kinora_formats::index::{Index, SampleEntry, Track};
use kinora_formats::matroska::write_feed;
use kinora_formats::plan::{Segment as PlannedSegment, SegmentPlan, presented_at};
use moka::future::Cache;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::{Error, Packaged, Packager, Rendition};
use kinora_formats::mp4::write::{init_segment, segment_head};
use moment::Moment;

mod moment;

/// Pictures that have just been made and are still in memory; each has some 10 to 500 KiB.
const JUST_MADE_BYTES: u64 = 16 << 20;

/// Pictures of one source that are kept; further ones are made anew each time, so that nobody fills the disk with sizes.
/// Decision 0022.
const KEPT_MAX: usize = 1000;
/// Pictures of one source that are made or waited for at once; the engine's queue has room for others.
const AT_ONCE_MAX: usize = 4;
/// Memory for the samples of all pictures that are being made, in KiB: two of the largest at once, or many usual ones.
const MEMORY_KIB: u32 = 192 << 10;
/// How long a picture waits for memory before whoever asks is told to come back.
const MEMORY_WAIT_MAX: Duration = Duration::from_secs(8);

/// Which picture of a media.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PictureRequest {
    /// The moment in milliseconds since the start, the very frame shown then; `None`: a frame near the middle.
    pub time_ms: Option<u64>,
    /// At most so many pixels wide.
    pub width: Option<u32>,
    /// At most so many pixels high.
    pub height: Option<u32>,
    /// How it is encoded.
    pub format: PictureFormat,
}

impl PictureRequest {
    /// The same picture asked for in one way only: a picture is never enlarged, so a side that is as long as the video's or longer
    /// asks for nothing.
    fn within(self, packaged: &Packaged) -> Self {
        let Some((_, video)) = packaged.index().video() else { return self };
        let (width, height) = video.display_size();
        Self {
            width: self.width.filter(|wanted| *wanted < width),
            height: self.height.filter(|wanted| *wanted < height),
            ..self
        }
    }
}

/// Pictures under way and just made: one flight a picture, however many ask for it.
#[derive(Clone)]
pub(crate) struct Flights {
    made: Cache<(SourceId, PictureHash), Bytes>,
    under_way: Arc<Mutex<HashMap<SourceId, usize>>>,
    memory: Arc<Semaphore>,
}

impl Flights {
    pub(crate) fn new() -> Self {
        let cache = Cache::builder()
            .max_capacity(JUST_MADE_BYTES)
            .weigher(|_, picture: &Bytes| u32::try_from(picture.len()).unwrap_or(u32::MAX))
            .build();
        let memory = Arc::new(Semaphore::new(MEMORY_KIB as usize));
        Self { made: cache, under_way: Arc::default(), memory }
    }
}

/// A place among the pictures of one source, given back when dropped.
struct Place {
    under_way: Arc<Mutex<HashMap<SourceId, usize>>>,
    source: SourceId,
}

impl Flights {
    fn enter(&self, source: SourceId) -> Result<Place, Error> {
        let mut under_way = lock(&self.under_way);
        let held = under_way.entry(source).or_default();
        if *held >= AT_ONCE_MAX {
            return Err(Error::Busy);
        }
        *held += 1;
        Ok(Place { under_way: self.under_way.clone(), source })
    }

    /// Waits until the samples of a moment may be read. [`Error::Busy`] where that takes too long.
    async fn memory_for(&self, track: &Track, moment: &Moment) -> Result<SemaphorePermit<'_>, Error> {
        // Twice: as they are read, and as they are packed for the decoder.
        let kib = (moment.len(track) >> 10).saturating_mul(2).saturating_add(1);
        let kib = u32::try_from(kib).unwrap_or(u32::MAX).min(MEMORY_KIB);
        let free = tokio::time::timeout(MEMORY_WAIT_MAX, self.memory.acquire_many(kib)).await;
        free.ok().and_then(Result::ok).ok_or(Error::Busy)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut under_way = lock(&self.under_way);
        if let Some(held) = under_way.get_mut(&self.source) {
            *held -= 1;
            if *held == 0 {
                under_way.remove(&self.source);
            }
        }
    }
}

fn lock(under_way: &Mutex<HashMap<SourceId, usize>>) -> MutexGuard<'_, HashMap<SourceId, usize>> {
    under_way.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Packager {
    /// The picture, from the store or made now. Two nodes may race: the first writer wins and both serve that one.
    ///
    /// Errors: [`Error::NoPicture`] without video or for a frame that does not decode, [`Error::Busy`] when too many are asked
    /// for at once.
    pub async fn picture(&self, packaged: &Arc<Packaged>, request: PictureRequest) -> Result<Bytes, Error> {
        let (track, video) = packaged.index().video().ok_or(Error::NoPicture)?;
        let moment = Moment::of(track, video, request.time_ms).ok_or(Error::NoPicture)?;
        let request = request.within(packaged);
        let hash = moment.hash(request);
        let flight = async {
            let key = ObjectKey::Picture(packaged.source, hash);
            if let Some(picture) = self.blob.get(key).await? {
                return Ok(picture);
            }
            let _place = self.pictures.enter(packaged.source)?;
            let spec = PictureSpec { width: request.width, height: request.height, format: request.format };
            let picture = match self.decode(packaged, track, &moment, spec).await? {
                Ok(picture) => picture,
                // The frame takes more than a picture may use. Its keyframe shows the same scene, and is not kept for it.
                Err(error) if is_limit(&error) => {
                    return Ok(self.decode(packaged, track, &moment.keyframe(), spec).await??);
                }
                Err(error) => return Err(error.into()),
            };
            let kept = self.blob.list(Prefix::PicturesOf(packaged.source), None, KEPT_MAX).await?;
            if kept.len() >= KEPT_MAX {
                return Ok(picture);
            }
            match self.blob.put_once(key, picture.clone()).await {
                // Whoever asks gets it all the same.
                Err(kinora_blob::Error::Full) => return Ok(picture),
                put => put.map(drop)?,
            }
            self.blob.get(key).await?.ok_or(Error::Gone)
        };
        let made = self.pictures.made.try_get_with((packaged.source, hash), flight).await;
        made.map_err(|error: Arc<Error>| Error::Shared(error))
    }

    /// Lets the engine make a picture. What the engine says is the inner result.
    async fn decode(
        &self,
        packaged: &Packaged,
        track: &Track,
        moment: &Moment,
        spec: PictureSpec,
    ) -> Result<Result<Bytes, EngineError>, Error> {
        if !moment.is_affordable(track) {
            return Err(Error::NoPicture);
        }
        let _memory = self.pictures.memory_for(track, moment).await?;
        let input = self.input(packaged, track, moment).await?;
        Ok(self.engine.picture(input, moment.in_gop, spec).await)
    }

    /// Decodes the first pictures, as many as are cheap of the first GOP, and tells how many frames came out.
    ///
    /// `None` where that says nothing about the media: without video, and where a limit of ours ended the try or the decoder crashed.
    pub async fn decode_first_gop(&self, packaged: &Arc<Packaged>) -> Result<Option<u64>, Error> {
        let Some((track, video)) = packaged.index().video() else { return Ok(None) };
        let moment = Moment::first_few(track, video);
        if !moment.is_affordable(track) {
            return Ok(None);
        }
        let _memory = self.pictures.memory_for(track, &moment).await?;
        let input = self.input(packaged, track, &moment).await?;
        match self.engine.probe_decode(input).await {
            Ok(report) => Ok(Some(report.frames)),
            Err(EngineError::NoPicture | EngineError::Failed { exit: Some(_) }) => Ok(Some(0)),
            // What grows beyond its memory may crash in place of saying so.
            Err(error) if is_limit(&error) || matches!(error, EngineError::Failed { exit: None }) => {
                tracing::warn!(source.id = %packaged.source, error = %error, "a source could not be probed");
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// A small file of just the samples that are needed: an MP4, or a Matroska where the source says only there what they are.
    async fn input(&self, packaged: &Packaged, track: &Track, moment: &Moment) -> Result<Bytes, Error> {
        if let SampleEntry::Matroska(entry) = track.media.sample_entry() {
            return self.matroska(packaged, track, entry, moment).await;
        }
        let index = excerpt(packaged.index(), track, moment);
        let [track] = index.tracks.as_slice() else { return Err(Error::NoPicture) };
        let damaged = |error| Error::Damaged(Box::new(error));
        let init = init_segment(&index, track).map_err(damaged)?;
        let head = segment_head(&index, track, 0).map_err(damaged)?;
        let reader = self.blob.reader(packaged.samples_key(Rendition::Video)).await?.ok_or(Error::Gone)?;
        let ranges: Vec<_> = head.ranges.iter().map(|range| range.offset..range.end()).collect();
        let pieces = reader.read_many(&ranges).await?;
        let mut input = init;
        input.extend_from_slice(&head.bytes);
        pieces.iter().for_each(|piece| input.extend_from_slice(piece));
        Ok(Bytes::from(input))
    }
}

impl Packager {
    async fn matroska(
        &self,
        packaged: &Packaged,
        track: &Track,
        entry: &[u8],
        moment: &Moment,
    ) -> Result<Bytes, Error> {
        let samples: Vec<_> = track.samples.range(moment.samples.clone()).collect();
        let ranges: Vec<_> =
            samples.iter().map(|sample| sample.offset..sample.offset + u64::from(sample.size)).collect();
        let reader = self.blob.reader(packaged.samples_key(Rendition::Video)).await?.ok_or(Error::Gone)?;
        let pieces = reader.read_many(&ranges).await?;
        let first = samples.iter().map(|sample| sample.pts).min().unwrap_or(0);
        let time_us = |pts: i64| {
            let micros =
                i128::from(pts.saturating_sub(first)) * 1_000_000 / i128::from(track.timescale.max(1));
            u64::try_from(micros).unwrap_or(0)
        };
        let frames = samples.iter().zip(&pieces);
        let frames = frames.map(|(sample, piece)| (time_us(sample.pts), sample.is_sync, &piece[..]));
        Ok(Bytes::from(write_feed(entry, frames)))
    }
}

/// Whether a run was ended for what it used, whatever it would have given.
fn is_limit(error: &EngineError) -> bool {
    matches!(
        error,
        EngineError::InputTooLarge { .. }
            | EngineError::OutputTooLarge { .. }
            | EngineError::CpuExhausted(_)
            | EngineError::MemoryExhausted { .. }
            | EngineError::TimedOut(_)
    )
}

/// The same source with one segment of one track.
fn excerpt(index: &Index, track: &Track, moment: &Moment) -> Index {
    let shown = |sample: &_| presented_at(track, sample);
    let samples = || track.samples.range(moment.samples.clone());
    let start = samples().map(|sample| shown(&sample)).min().unwrap_or(0);
    let end =
        samples().map(|sample| shown(&sample) + i64::from(sample.duration.max(1))).max().unwrap_or(start + 1);
    // The rule for timestamps wants times from 0 on; only differences matter here.
    let track = Track { shift: track.shift - start, ..track.clone() };
    let segment = PlannedSegment { samples: moment.samples.clone(), start: 0, end: end - start };
    Index {
        tracks: vec![track],
        plan: SegmentPlan { video: vec![segment], ..SegmentPlan::default() },
        ..index.clone()
    }
}
