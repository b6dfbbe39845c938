//! Pictures: one frame of a source, made when somebody asks, then kept as an object.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use kinora_blob::{ObjectKey, PictureHash, Prefix};
use kinora_domain::SourceId;
use kinora_engine::{PictureFormat, PictureSpec};
use kinora_formats::index::{Index, SampleEntry, Stretch, Track};
use kinora_formats::matroska::write_feed;
use kinora_formats::plan::{Segment as PlannedSegment, SegmentPlan, presented_at};
use moka::future::Cache;
use sha2::{Digest as _, Sha256};

use crate::{Error, Packaged, Packager, Rendition};
use kinora_formats::mp4::write::{init_segment, segment_head};

/// Times are told apart to a tenth of a second, so that a slider does not fill the store.
const TIME_STEP_MS: u64 = 100;
/// Pictures that have just been made and are still in memory; each has some 10 to 500 KiB.
const JUST_MADE_BYTES: u64 = 16 << 20;

/// Pictures of one source that are kept; further ones are made anew each time, so that nobody fills the disk with sizes.
/// Decision 0022.
const KEPT_MAX: usize = 1000;
/// Pictures of one source that are made or waited for at once; the engine's queue has room for others.
const AT_ONCE_MAX: usize = 4;

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
}

impl Flights {
    pub(crate) fn new() -> Self {
        let cache = Cache::builder()
            .max_capacity(JUST_MADE_BYTES)
            .weigher(|_, picture: &Bytes| u32::try_from(picture.len()).unwrap_or(u32::MAX))
            .build();
        Self { made: cache, under_way: Arc::default() }
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
        let track = packaged.track(Rendition::Video).map_err(|_| Error::NoPicture)?;
        let moment = Moment::of(track, request.time_ms).ok_or(Error::NoPicture)?;
        let request = request.within(packaged);
        let hash = moment.hash(request);
        let flight = async {
            let key = ObjectKey::Picture(packaged.source, hash);
            if let Some(picture) = self.blob.get(key).await? {
                return Ok(picture);
            }
            let _place = self.pictures.enter(packaged.source)?;
            let input = self.input(packaged, track, &moment).await?;
            let spec = PictureSpec { width: request.width, height: request.height, format: request.format };
            let picture = self.engine.picture(input, moment.in_gop, spec).await?;
            let kept = self.blob.list(Prefix::PicturesOf(packaged.source), None, KEPT_MAX).await?;
            if kept.len() >= KEPT_MAX {
                return Ok(picture);
            }
            self.blob.put_once(key, picture.clone()).await?;
            self.blob.get(key).await?.ok_or(Error::Gone)
        };
        let made = self.pictures.made.try_get_with((packaged.source, hash), flight).await;
        made.map_err(|error: Arc<Error>| Error::Shared(error))
    }

    /// Decodes the first GOP and tells how many frames came out. `None` without video.
    pub async fn decode_first_gop(&self, packaged: &Arc<Packaged>) -> Result<Option<u64>, Error> {
        let Ok(track) = packaged.track(Rendition::Video) else { return Ok(None) };
        let moment = Moment { samples: gop(track, 0, track.samples.len()), in_gop: None };
        let input = self.input(packaged, track, &moment).await?;
        match self.engine.probe_decode(input).await {
            Ok(report) => Ok(Some(report.frames)),
            Err(error) => match Error::from(error) {
                Error::NoPicture => Ok(Some(0)),
                other => Err(other),
            },
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
        let reader = self.blob.reader(packaged.samples_key()).await?.ok_or(Error::Gone)?;
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
        let reader = self.blob.reader(packaged.samples_key()).await?.ok_or(Error::Gone)?;
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

/// Which samples are decoded for a picture, and which of the frames is meant.
struct Moment {
    samples: std::ops::Range<u32>,
    /// Time since the first frame of the samples; `None`: the first frame.
    in_gop: Option<Duration>,
}

impl Moment {
    /// The moment at `time_ms`, or the sync sample at or before the middle. Past the end: the last frame.
    fn of(track: &Track, time_ms: Option<u64>) -> Option<Self> {
        let timescale = i128::from(track.timescale.max(1));
        let at = match time_ms {
            // The whole tenth: 12.34 s and 12.3 s are the same picture.
            Some(time_ms) => i128::from(time_ms / TIME_STEP_MS * TIME_STEP_MS) * timescale / 1000,
            None => i128::from(track.end) / 2,
        };
        let at = i64::try_from(at).unwrap_or(i64::MAX).min(track.end.saturating_sub(1));
        // An edit list tells in the times of the source what is shown of which samples.
        let pts = at.saturating_sub(track.shift);
        let stretch = track.stretch_at(pts);
        let near =
            first_at_or_after(track, &stretch, pts).unwrap_or_else(|| stretch.samples.end.saturating_sub(1));
        let mut sync = track.samples.sync_at_or_before(near)?;
        let starts_at = |sync| track.samples.get(sync).map(|sample| presented_at(track, &sample));
        // The sample at or after a moment may open a GOP that begins after it.
        while stretch.samples.start < sync && at < starts_at(sync)? {
            sync = track.samples.sync_at_or_before(sync - 1)?;
        }
        // Any keyframe near the middle will do, but none that an edit list hides.
        let is_shown = |sync| {
            let sample = track.samples.get(sync)?;
            Some(stretch.shown.contains(&sample.pts) && 0 <= presented_at(track, &sample))
        };
        if time_ms.is_none() && is_shown(sync)? {
            return Some(Self { samples: sync..sync + 1, in_gop: None });
        }
        // Times are counted from the keyframe: what leads it is not decoded without the group in front.
        let ticks = at.saturating_sub(starts_at(sync)?).max(0);
        let micros = u64::try_from(i128::from(ticks) * 1_000_000 / timescale).ok()?;
        Some(Self {
            samples: gop(track, sync, stretch.samples.end),
            in_gop: Some(Duration::from_micros(micros)),
        })
    }

    /// Names everything that shapes the picture.
    fn hash(&self, request: PictureRequest) -> PictureHash {
        let text = format!(
            "{}-{} {:?} {:?} {:?} {:?}",
            self.samples.start, self.samples.end, self.in_gop, request.width, request.height, request.format
        );
        let mut hash = [0; 16];
        hash.copy_from_slice(&Sha256::digest(text.as_bytes())[..16]);
        PictureHash(hash)
    }
}

/// The first sample of a stretch in decode order that is shown at a time of the source or later.
fn first_at_or_after(track: &Track, stretch: &Stretch, pts: i64) -> Option<u32> {
    if track.joints.is_empty() {
        return track.samples.first_at_or_after_pts(pts);
    }
    let mut samples = stretch.samples.clone().zip(track.samples.range(stretch.samples.clone()));
    samples.find(|(_, sample)| pts <= sample.pts).map(|(number, _)| number)
}

/// From a sync sample to the next, and on to the last of the pictures that lead that one: they are shown before it, and refer to
/// both. None from `stretch_end` on.
fn gop(track: &Track, sync: u32, stretch_end: u32) -> std::ops::Range<u32> {
    let rest = track.samples.range(sync + 1..stretch_end);
    let len = rest.take_while(|sample| !sample.is_sync).count();
    let end = sync + 1 + u32::try_from(len).unwrap_or(0);
    let mut behind = track.samples.range(end..stretch_end);
    let Some(next) = behind.next() else { return sync..end };
    let leading = behind.take_while(|sample| !sample.is_sync && sample.pts < next.pts).count();
    let leading = u32::try_from(leading).unwrap_or(0);
    sync..end + if leading > 0 { 1 + leading } else { 0 }
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
