//! From what an encoder writes to segments that last as planned.
//!
//! The encoder writes one file with a track for each rung. Its pictures are matched with those of the source
//! by time, cut into segments at the keyframes it was told to make, and given their times by the one rule
//! ([`timing`](kinora_index::timing)): whatever the encoder made of durations and offsets is forgotten.

use std::sync::Arc;

use kinora_index::{
    Rung, RungName,
    codec::{colour::Colour, h264::AvcConfig},
    plan::SEGMENT_SAMPLES_MAX,
    timing::{Span, TimingError, restamp},
};
use kinora_isobmff::write::{Entry, FLAGS_NOT_SYNC, FLAGS_SYNC, write_head};

use super::{
    feed::Feed,
    fragments::{Avc, Coded, CodedRun, EncodedTrack, FragmentReader},
    pictures::Run,
};

/// The largest segment of one rung that is kept: a minute of the heaviest one.
pub const ENCODED_LEN_MAX: usize = 128 << 20;

/// One segment of one rung.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encoded {
    /// Of which rung.
    pub rung: RungName,
    /// Its number in the encoded plan.
    pub number: u32,
    /// The whole segment, `moof` and `mdat`; or why there is none, which leaves its neighbours as they are.
    pub outcome: Result<Vec<u8>, SegmentError>,
}

/// Why one segment could not be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SegmentError {
    /// Not one of its pictures came out of the encoder: none decodes.
    #[error("no picture of the segment was decoded")]
    NoPictures,
    /// The times of its pictures do not fit.
    #[error("the segment cannot be timed")]
    Timing(#[from] TimingError),
}

/// Why the output of an encoder is not what was ordered. Final: the same run ends the same way.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CollectError {
    /// The bytes are no fragmented MP4 that we read. Says what was found.
    #[error("the encoder wrote {0}")]
    Malformed(&'static str),
    /// Something is larger than it can be.
    #[error("the encoder wrote {what} of {bytes} bytes")]
    TooLarge {
        /// What it is.
        what: &'static str,
        /// How large it is, or says that it is.
        bytes: u64,
    },
    /// The bytes end inside something.
    #[error("the output of the encoder was cut short")]
    CutShort,
    /// Another number of tracks came than rungs were ordered.
    #[error("the encoder wrote {found} tracks, not {expected}")]
    Tracks {
        /// How many came.
        found: usize,
        /// How many were ordered.
        expected: usize,
    },
    /// Another codec, profile, level or size came than was announced.
    #[error("the encoder wrote {found} for rung {rung}")]
    Codec {
        /// Of which rung.
        rung: RungName,
        /// What came.
        found: String,
    },
    /// A picture came at an instant at which none was fed, or outside the window of the feed.
    #[error("rung {rung} has a picture at tick {ticks}, where the source has none")]
    UnknownPicture {
        /// Of which rung.
        rung: RungName,
        /// When, in ticks of the source on the common timeline.
        ticks: i64,
    },
    /// One picture came twice.
    #[error("rung {rung} has the picture at tick {ticks} twice")]
    Twice {
        /// Of which rung.
        rung: RungName,
        /// When, in ticks of the source on the common timeline.
        ticks: i64,
    },
    /// A segment does not begin with a keyframe.
    #[error("rung {rung} has no keyframe at the start of segment {number}")]
    NotCut {
        /// Of which rung.
        rung: RungName,
        /// Which segment.
        number: u32,
    },
}

/// Takes what an encoder writes for one [`Feed`], and makes segments of it.
#[derive(Debug)]
pub struct Collector {
    reader: FragmentReader<Avc>,
    run: Arc<Run>,
    rungs: Vec<Collecting>,
    failure: Option<CollectError>,
}

/// One rung while its pictures come.
#[derive(Debug)]
struct Collecting {
    rung: Rung,
    avcc: Option<Vec<u8>>,
    timescale: u32,
    /// Place in the run of the segment whose pictures are pending.
    place: usize,
    pending: Vec<Coded>,
    bytes: Vec<u8>,
    /// The configuration that players have from the init segment.
    kept: Option<Vec<u8>>,
    /// Parameter sets in front of the first picture of each segment; empty if the encoder's equal those of
    /// `kept`.
    in_band: Vec<u8>,
}

impl Collector {
    /// For an encoder that reads `feed` and writes a track for each of these rungs, in this order.
    pub fn new(feed: &Feed, rungs: &[Rung]) -> Self {
        let collecting = |rung: &Rung| Collecting {
            rung: rung.clone(),
            avcc: None,
            timescale: 1,
            place: 0,
            pending: Vec::new(),
            bytes: Vec::new(),
            kept: None,
            in_band: Vec::new(),
        };
        Self {
            reader: FragmentReader::default(),
            run: Arc::clone(feed.run()),
            rungs: rungs.iter().map(collecting).collect(),
            failure: None,
        }
    }

    /// Sets the configuration that players have of a rung. If the encoder writes another one, as a later
    /// version may, each segment contains the parameter sets in front of its first picture: decoders accept
    /// that even in an `avc1` track.
    ///
    /// Call it before the first bytes.
    #[must_use]
    pub fn with_kept(mut self, rung: RungName, avcc: &[u8]) -> Self {
        if let Some(collecting) = self.rungs.iter_mut().find(|collecting| collecting.rung.name == rung) {
            collecting.kept = Some(avcc.to_vec());
        }
        self
    }

    /// Whether the encoder writes another configuration of this rung than players have; `false` before its
    /// first picture.
    pub fn is_other_than_kept(&self, rung: RungName) -> bool {
        self.rungs.iter().any(|collecting| collecting.rung.name == rung && !collecting.in_band.is_empty())
    }

    /// Takes more bytes, cut anywhere. The segments that they complete, in the order of their numbers for
    /// each rung.
    ///
    /// A segment is complete when the keyframe of a later one has come. After an error every further call
    /// gives the same error.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Encoded>, CollectError> {
        let mut made = Vec::new();
        self.guarded(|this| {
            let Self { reader, run, rungs, .. } = this;
            reader.push(bytes, |tracks, coded| take(run, rungs, tracks, coded, &mut made))
        })?;
        Ok(made)
    }

    /// Ends the output of the encoder: the last segments, and the outcome of all that did not come.
    ///
    /// A second call gives nothing more.
    pub fn finish(&mut self) -> Result<Vec<Encoded>, CollectError> {
        let mut made = Vec::new();
        self.guarded(|this| {
            this.reader.finish()?;
            for rung in &mut this.rungs {
                rung.close_until(&this.run, this.run.numbers.len(), &mut made)?;
            }
            Ok(())
        })?;
        Ok(made)
    }

    /// The body of the `avcC` box of a rung, once it is known: before the first segment.
    pub fn avcc(&self, rung: RungName) -> Option<&[u8]> {
        self.rungs.iter().find(|collecting| collecting.rung.name == rung)?.avcc.as_deref()
    }

    /// How the encoder describes the colours of a rung; `None` before its first picture.
    pub fn colour(&self, rung: RungName) -> Option<Colour> {
        let config = AvcConfig::parse(self.avcc(rung)?)?;
        Some(config.parameter_sets.first()?.colour.unwrap_or(Colour::OPEN))
    }

    fn guarded(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<(), CollectError>,
    ) -> Result<(), CollectError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let outcome = work(self);
        self.failure = outcome.as_ref().err().cloned();
        outcome
    }
}

/// Hands the pictures of one track to its rung.
fn take(
    run: &Run,
    rungs: &mut [Collecting],
    tracks: &[EncodedTrack<Avc>],
    coded: CodedRun<'_>,
    made: &mut Vec<Encoded>,
) -> Result<(), CollectError> {
    if tracks.len() != rungs.len() {
        return Err(CollectError::Tracks { found: tracks.len(), expected: rungs.len() });
    }
    for (rung, track) in rungs.iter_mut().zip(tracks) {
        rung.check(track)?;
    }
    rungs[coded.track].take(run, coded, made)
}

impl Collecting {
    /// Refuses a track that is not what the rung announces. Cheap after the first time.
    fn check(&mut self, track: &EncodedTrack<Avc>) -> Result<(), CollectError> {
        if self.avcc.is_some() {
            return Ok(());
        }
        let Some(sps) = track.description.config.parameter_sets.first() else {
            return Err(CollectError::Malformed("no sequence parameter set"));
        };
        let codec = track.description.config.codec_string();
        if codec != self.rung.codec || (sps.width, sps.height) != (self.rung.width, self.rung.height) {
            let found = format!("{codec} of {}x{}", sps.width, sps.height);
            return Err(CollectError::Codec { rung: self.rung.name, found });
        }
        let avcc = &track.description.avcc;
        if self.kept.as_ref().is_some_and(|kept| kept != avcc) {
            self.in_band = AvcConfig::parameter_sets_in_band(avcc)
                .ok_or(CollectError::Malformed("no parameter sets"))?;
        }
        self.avcc = Some(avcc.clone());
        self.timescale = track.timescale;
        Ok(())
    }

    fn take(&mut self, run: &Run, coded: CodedRun<'_>, made: &mut Vec<Encoded>) -> Result<(), CollectError> {
        let mut bytes = coded.bytes;
        for picture in coded.pictures {
            let (own, rest) = bytes
                .split_at_checked(picture.size as usize)
                .ok_or(CollectError::Malformed("samples outside their data"))?;
            bytes = rest;
            let place = self.place_of(run, picture)?;
            if place != self.place {
                if place < self.place || !picture.is_sync {
                    return Err(self.not_cut(run, place));
                }
                self.close_until(run, place, made)?;
            }
            if self.pending.is_empty() && !picture.is_sync {
                return Err(self.not_cut(run, place));
            }
            let mut picture = *picture;
            if self.pending.is_empty() {
                self.bytes.extend_from_slice(&self.in_band);
                picture.size = picture.size.saturating_add(self.in_band.len() as u32);
            }
            let len = self.bytes.len().saturating_add(own.len());
            if ENCODED_LEN_MAX < len || SEGMENT_SAMPLES_MAX as usize <= self.pending.len() {
                return Err(CollectError::TooLarge { what: "a segment", bytes: len as u64 });
            }
            self.bytes.extend_from_slice(own);
            self.pending.push(picture);
        }
        Ok(())
    }

    /// In which segment a picture is shown, counted from the first of the run.
    fn place_of(&self, run: &Run, picture: &Coded) -> Result<usize, CollectError> {
        let ticks = run.meant(picture.shown, self.timescale);
        let unknown = CollectError::UnknownPicture { rung: self.rung.name, ticks };
        let shown =
            run.picture_at(ticks).and_then(|place| run.times.get(place)).ok_or_else(|| unknown.clone())?;
        let place = run.cuts.partition_point(|cut| cut <= shown);
        place.checked_sub(1).filter(|place| *place < run.numbers.len()).ok_or(unknown)
    }

    fn not_cut(&self, run: &Run, place: usize) -> CollectError {
        CollectError::NotCut { rung: self.rung.name, number: number_of(run, place) }
    }

    /// Makes the pending segment, and says of those between it and `place` that they have no pictures.
    fn close_until(&mut self, run: &Run, place: usize, made: &mut Vec<Encoded>) -> Result<(), CollectError> {
        while self.place < place {
            let pictures = std::mem::take(&mut self.pending);
            let bytes = std::mem::take(&mut self.bytes);
            let times = self.matched(run, &pictures)?;
            let outcome = self.segment(run, &pictures, &times, &bytes);
            made.push(Encoded { rung: self.rung.name, number: number_of(run, self.place), outcome });
            self.place += 1;
        }
        Ok(())
    }

    /// The segment at the current place, of these pictures and when each is shown in the source.
    fn segment(
        &self,
        run: &Run,
        pictures: &[Coded],
        times: &[i64],
        bytes: &[u8],
    ) -> Result<Vec<u8>, SegmentError> {
        let Some([start, end]) = run.cuts.get(self.place..self.place + 2) else {
            return Err(SegmentError::NoPictures);
        };
        if pictures.is_empty() {
            return Err(SegmentError::NoPictures);
        }
        let times: Vec<_> = times.iter().map(|time| run.timeline.scaled(*time)).collect();
        let span = Span { start: run.timeline.scaled(*start), end: run.timeline.scaled(*end) };
        let stamps = restamp(&times, span, run.timeline.media_time)?;
        let begun = u64::try_from(span.start).map_err(|_| TimingError::TooLong { ticks: span.start })?;
        let entries = pictures.iter().zip(stamps).map(|(picture, stamp)| Entry {
            duration: stamp.duration,
            size: picture.size,
            flags: if picture.is_sync { FLAGS_SYNC } else { FLAGS_NOT_SYNC },
            composition_offset: stamp.composition_offset,
        });
        let entries: Vec<_> = entries.collect();
        let mut segment = write_head(number_of(run, self.place), begun, &entries, bytes.len() as u64);
        segment.extend_from_slice(bytes);
        Ok(segment)
    }

    /// When each picture is shown in the source: no two at once.
    fn matched(&self, run: &Run, pictures: &[Coded]) -> Result<Vec<i64>, CollectError> {
        let mut order: Vec<usize> = (0..pictures.len()).collect();
        order.sort_by_key(|place| pictures[*place].shown);
        let mut times = vec![0; pictures.len()];
        let mut free = 0;
        for place in order {
            let ticks = run.meant(pictures[place].shown, self.timescale);
            let unknown = CollectError::UnknownPicture { rung: self.rung.name, ticks };
            let nearest = run.picture_at(ticks).ok_or(unknown)?;
            // Two pictures may be nearer to one another than the clock of the encoder tells.
            let source = nearest.max(free);
            if !run.is_near(source, ticks) {
                return Err(CollectError::Twice { rung: self.rung.name, ticks });
            }
            times[place] = run.times[source];
            free = source + 1;
        }
        Ok(times)
    }
}

fn number_of(run: &Run, place: usize) -> u32 {
    run.numbers.start.saturating_add(u32::try_from(place).unwrap_or(u32::MAX))
}
