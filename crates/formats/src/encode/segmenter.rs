//! Converts the output of an encoder to segments with the planned times.
//!
//! The encoder writes one file with a track for each rung. Its frames are matched with those of the source
//! by time, and cut into segments at the requested keyframes. They get their times by the timestamp rule
//! ([`timing`](kinora_index::timing)): durations and offsets from the encoder are ignored.

use std::sync::Arc;

use kinora_index::{
    Rung, RungName,
    codec::{colour::Colour, h264::AvcConfig},
    plan::SEGMENT_SAMPLES_MAX,
    timing::{Span, TimingError, restamp},
};
use kinora_isobmff::write::{FLAGS_NOT_SYNC, FLAGS_SYNC, TrunEntry, write_head};

use super::{
    feed::Feed,
    fragments::{Avc, CodedSample, CodedSamples, EncodedTrack, FragmentReader},
    frame_times::SegmentRun,
};

/// Maximum length of a segment of one rung in bytes: a minute of the highest bitrate.
pub const ENCODED_LEN_MAX: usize = 128 << 20;

/// One segment of one rung.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedSegment {
    /// Its rung.
    pub rung: RungName,
    /// Its number in the encoded plan.
    pub number: u32,
    /// The whole segment, `moof` and `mdat`; or the error, which does not affect its neighbours.
    pub outcome: Result<Vec<u8>, SegmentError>,
}

/// Why one segment could not be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SegmentError {
    /// The encoder returned none of its frames: none decodes.
    #[error("no frame of the segment was decoded")]
    NoFrames,
    /// The times of its frames do not fit.
    #[error("the segment cannot be timed")]
    Timing(#[from] TimingError),
}

/// Why the output of an encoder is not as requested. Final: the same run gives the same error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SegmenterError {
    /// The bytes are no supported fragmented MP4. The string is the reason.
    #[error("the encoder wrote {0}")]
    Malformed(&'static str),
    /// An item exceeds its limit.
    #[error("the encoder wrote {what} of {bytes} bytes")]
    TooLarge {
        /// The item.
        what: &'static str,
        /// Its actual or declared size.
        bytes: u64,
    },
    /// The bytes end inside a box, or before the end of the data.
    #[error("the output of the encoder was cut short")]
    Truncated,
    /// The number of tracks differs from the number of rungs.
    #[error("the encoder wrote {found} tracks, not {expected}")]
    Tracks {
        /// Tracks in the output.
        found: usize,
        /// Rungs requested.
        expected: usize,
    },
    /// Codec, profile, level or size differ from those announced.
    #[error("the encoder wrote {found} for rung {rung}")]
    Codec {
        /// The rung.
        rung: RungName,
        /// The found codec or size.
        found: String,
    },
    /// A frame has a time at which none was fed, or that is outside the window of the feed.
    #[error("rung {rung} has a frame at tick {ticks}, where the source has none")]
    UnexpectedFrame {
        /// The rung.
        rung: RungName,
        /// Time of the frame, in ticks of the source on the common timeline.
        ticks: i64,
    },
    /// A frame came twice.
    #[error("rung {rung} has the frame at tick {ticks} twice")]
    DuplicateFrame {
        /// The rung.
        rung: RungName,
        /// Time of the frame, in ticks of the source on the common timeline.
        ticks: i64,
    },
    /// A segment does not begin with a keyframe.
    #[error("rung {rung} has no keyframe at the start of segment {number}")]
    NoKeyframeAtCut {
        /// The rung.
        rung: RungName,
        /// The number of the segment.
        number: u32,
    },
}

/// Builds segments from the output of an encoder for one [`Feed`].
#[derive(Debug)]
pub struct Segmenter {
    reader: FragmentReader<Avc>,
    run: Arc<SegmentRun>,
    rungs: Vec<RungSegmenter>,
    failure: Option<SegmenterError>,
}

/// One rung while its frames arrive.
#[derive(Debug)]
struct RungSegmenter {
    rung: Rung,
    avcc: Option<Vec<u8>>,
    timescale: u32,
    /// Index in the run of the segment whose frames are pending.
    segment_index: usize,
    pending: Vec<CodedSample>,
    bytes: Vec<u8>,
    /// The configuration in the init segment of players.
    stored_avcc: Option<Vec<u8>>,
    /// Parameter sets before the first frame of each segment; empty if the encoder's equal those of
    /// `stored_avcc`.
    in_band: Vec<u8>,
}

impl Segmenter {
    /// For an encoder that reads `feed` and writes a track for each of these rungs, in this order.
    pub fn new(feed: &Feed, rungs: &[Rung]) -> Self {
        let new_rung_segmenter = |rung: &Rung| RungSegmenter {
            rung: rung.clone(),
            avcc: None,
            timescale: 1,
            segment_index: 0,
            pending: Vec::new(),
            bytes: Vec::new(),
            stored_avcc: None,
            in_band: Vec::new(),
        };
        Self {
            reader: FragmentReader::default(),
            run: Arc::clone(feed.run()),
            rungs: rungs.iter().map(new_rung_segmenter).collect(),
            failure: None,
        }
    }

    /// Sets the configuration that players have of a rung. If the encoder writes another one, as a later
    /// version may, each segment contains the parameter sets before its first frame: decoders accept that
    /// even in an `avc1` track.
    ///
    /// Call it before the first bytes.
    #[must_use]
    pub fn with_stored_avcc(mut self, rung: RungName, avcc: &[u8]) -> Self {
        if let Some(rung_segmenter) = self.rungs.iter_mut().find(|collecting| collecting.rung.name == rung) {
            rung_segmenter.stored_avcc = Some(avcc.to_vec());
        }
        self
    }

    /// Whether the encoder writes another configuration of this rung than players have; `false` before its
    /// first frame.
    pub fn differs_from_stored_avcc(&self, rung: RungName) -> bool {
        self.rungs
            .iter()
            .any(|rung_segmenter| rung_segmenter.rung.name == rung && !rung_segmenter.in_band.is_empty())
    }

    /// Adds bytes of the output, cut anywhere. Returns the segments that they complete, in the order of their
    /// numbers for each rung.
    ///
    /// A segment is complete when the keyframe of a later one has come. After an error every further call
    /// gives the same error.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<EncodedSegment>, SegmenterError> {
        let mut segments = Vec::new();
        self.until_failure(|this| {
            let Self { reader, run, rungs, .. } = this;
            reader.push(bytes, |tracks, coded| push_samples(run, rungs, tracks, coded, &mut segments))
        })?;
        Ok(segments)
    }

    /// Ends the output of the encoder. Returns the last segments, and the outcome of all missing ones.
    ///
    /// A second call returns no segments.
    pub fn finish(&mut self) -> Result<Vec<EncodedSegment>, SegmenterError> {
        let mut segments = Vec::new();
        self.until_failure(|this| {
            this.reader.finish()?;
            for rung in &mut this.rungs {
                rung.close_until(&this.run, this.run.numbers.len(), &mut segments)?;
            }
            Ok(())
        })?;
        Ok(segments)
    }

    /// The body of the `avcC` box of a rung; available before the first segment.
    pub fn avcc(&self, rung: RungName) -> Option<&[u8]> {
        self.rungs.iter().find(|rung_segmenter| rung_segmenter.rung.name == rung)?.avcc.as_deref()
    }

    /// The encoder's colour description of a rung; `None` before its first frame.
    pub fn colour(&self, rung: RungName) -> Option<Colour> {
        let config = AvcConfig::parse(self.avcc(rung)?)?;
        Some(config.parameter_sets.first()?.colour.unwrap_or(Colour::UNSPECIFIED))
    }

    fn until_failure(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<(), SegmenterError>,
    ) -> Result<(), SegmenterError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let outcome = work(self);
        self.failure = outcome.as_ref().err().cloned();
        outcome
    }
}

/// Passes the frames of one track to its rung.
fn push_samples(
    run: &SegmentRun,
    rungs: &mut [RungSegmenter],
    tracks: &[EncodedTrack<Avc>],
    coded: CodedSamples<'_>,
    segments: &mut Vec<EncodedSegment>,
) -> Result<(), SegmenterError> {
    if tracks.len() != rungs.len() {
        return Err(SegmenterError::Tracks { found: tracks.len(), expected: rungs.len() });
    }
    for (rung, track) in rungs.iter_mut().zip(tracks) {
        rung.check(track)?;
    }
    rungs[coded.track].push_samples(run, coded, segments)
}

impl RungSegmenter {
    /// Rejects a track that differs from the announced rung. Cheap after the first time.
    fn check(&mut self, track: &EncodedTrack<Avc>) -> Result<(), SegmenterError> {
        if self.avcc.is_some() {
            return Ok(());
        }
        let Some(sps) = track.description.config.parameter_sets.first() else {
            return Err(SegmenterError::Malformed("no sequence parameter set"));
        };
        let codec = track.description.config.codec_string();
        if codec != self.rung.codec || (sps.width, sps.height) != (self.rung.width, self.rung.height) {
            let found = format!("{codec} of {}x{}", sps.width, sps.height);
            return Err(SegmenterError::Codec { rung: self.rung.name, found });
        }
        let avcc = &track.description.avcc;
        if self.stored_avcc.as_ref().is_some_and(|stored| stored != avcc) {
            self.in_band = AvcConfig::parameter_sets_in_band(avcc)
                .ok_or(SegmenterError::Malformed("no parameter sets"))?;
        }
        self.avcc = Some(avcc.clone());
        self.timescale = track.timescale;
        Ok(())
    }

    fn push_samples(
        &mut self,
        run: &SegmentRun,
        coded: CodedSamples<'_>,
        segments: &mut Vec<EncodedSegment>,
    ) -> Result<(), SegmenterError> {
        let mut bytes = coded.bytes;
        for sample in coded.samples {
            let (sample_bytes, rest) = bytes
                .split_at_checked(sample.size as usize)
                .ok_or(SegmenterError::Malformed("samples outside their data"))?;
            bytes = rest;
            let index = self.segment_index_of(run, sample)?;
            if index != self.segment_index {
                if index < self.segment_index || !sample.is_sync {
                    return Err(self.no_keyframe_error(run, index));
                }
                self.close_until(run, index, segments)?;
            }
            if self.pending.is_empty() && !sample.is_sync {
                return Err(self.no_keyframe_error(run, index));
            }
            let mut pending_sample = *sample;
            if self.pending.is_empty() {
                self.bytes.extend_from_slice(&self.in_band);
                pending_sample.size = pending_sample.size.saturating_add(self.in_band.len() as u32);
            }
            let len = self.bytes.len().saturating_add(sample_bytes.len());
            if ENCODED_LEN_MAX < len || SEGMENT_SAMPLES_MAX as usize <= self.pending.len() {
                return Err(SegmenterError::TooLarge { what: "a segment", bytes: len as u64 });
            }
            self.bytes.extend_from_slice(sample_bytes);
            self.pending.push(pending_sample);
        }
        Ok(())
    }

    /// The segment in which a frame is presented, counted from the first of the run.
    fn segment_index_of(&self, run: &SegmentRun, sample: &CodedSample) -> Result<usize, SegmenterError> {
        let ticks = run.source_ticks(sample.pts, self.timescale);
        let unknown = SegmenterError::UnexpectedFrame { rung: self.rung.name, ticks };
        let shown = run
            .frame_index_at(ticks)
            .and_then(|frame| run.times.get(frame))
            .ok_or_else(|| unknown.clone())?;
        let segment_after = run.cuts.partition_point(|cut| cut <= shown);
        segment_after.checked_sub(1).filter(|index| *index < run.numbers.len()).ok_or(unknown)
    }

    fn no_keyframe_error(&self, run: &SegmentRun, index: usize) -> SegmenterError {
        SegmenterError::NoKeyframeAtCut { rung: self.rung.name, number: segment_number(run, index) }
    }

    /// Builds the pending segment, and returns [`SegmentError::NoFrames`] for those between it and
    /// `index`.
    fn close_until(
        &mut self,
        run: &SegmentRun,
        index: usize,
        segments: &mut Vec<EncodedSegment>,
    ) -> Result<(), SegmenterError> {
        while self.segment_index < index {
            let samples = std::mem::take(&mut self.pending);
            let bytes = std::mem::take(&mut self.bytes);
            let times = self.source_times(run, &samples)?;
            let outcome = self.segment(run, &samples, &times, &bytes);
            segments.push(EncodedSegment {
                rung: self.rung.name,
                number: segment_number(run, self.segment_index),
                outcome,
            });
            self.segment_index += 1;
        }
        Ok(())
    }

    /// The segment at the current index, from these frames and their presentation times in the source.
    fn segment(
        &self,
        run: &SegmentRun,
        samples: &[CodedSample],
        times: &[i64],
        bytes: &[u8],
    ) -> Result<Vec<u8>, SegmentError> {
        let Some([start, end]) = run.cuts.get(self.segment_index..self.segment_index + 2) else {
            return Err(SegmentError::NoFrames);
        };
        if samples.is_empty() {
            return Err(SegmentError::NoFrames);
        }
        let times: Vec<_> = times.iter().map(|time| run.timeline.scaled(*time)).collect();
        let span = Span { start: run.timeline.scaled(*start), end: run.timeline.scaled(*end) };
        let stamps = restamp(&times, span, run.timeline.media_time, run.timeline.timescale)?;
        let decode_time =
            u64::try_from(span.start).map_err(|_| TimingError::TooLong { ticks: span.start })?;
        let entries = samples.iter().zip(stamps).map(|(sample, stamp)| TrunEntry {
            duration: stamp.duration,
            size: sample.size,
            flags: if sample.is_sync { FLAGS_SYNC } else { FLAGS_NOT_SYNC },
            composition_offset: stamp.composition_offset,
        });
        let entries: Vec<_> = entries.collect();
        let mut segment =
            write_head(segment_number(run, self.segment_index), decode_time, &entries, bytes.len() as u64);
        segment.extend_from_slice(bytes);
        Ok(segment)
    }

    /// The presentation time of each frame in the source: no two are equal.
    fn source_times(&self, run: &SegmentRun, samples: &[CodedSample]) -> Result<Vec<i64>, SegmenterError> {
        let mut order: Vec<usize> = (0..samples.len()).collect();
        order.sort_by_key(|index| samples[*index].pts);
        let mut times = vec![0; samples.len()];
        let mut next_frame = 0;
        for place in order {
            let ticks = run.source_ticks(samples[place].pts, self.timescale);
            let unknown = SegmenterError::UnexpectedFrame { rung: self.rung.name, ticks };
            let nearest = run.frame_index_at(ticks).ok_or(unknown)?;
            // Two frames may be closer than the precision of the encoder's clock.
            let source = nearest.max(next_frame);
            if !run.is_near(source, ticks) {
                return Err(SegmenterError::DuplicateFrame { rung: self.rung.name, ticks });
            }
            times[place] = run.times[source];
            next_frame = source + 1;
        }
        Ok(times)
    }
}

fn segment_number(run: &SegmentRun, index: usize) -> u32 {
    run.numbers.start.saturating_add(u32::try_from(index).unwrap_or(u32::MAX))
}
