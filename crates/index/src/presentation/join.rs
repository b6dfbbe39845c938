//! Joins whole sources into one presentation.

use std::ops::Range;

use sha2::{Digest as _, Sha256};

use super::splice::{JoinTimescale, MediaTime, TrackPart, splice_audio, splice_video};
use crate::index::{
    Index, OBJECTS_MAX, PARTS_MAX, Part, SKIPPED_TRACKS_MAX, SampleObject, Segment, SegmentPlan, SourceName,
    Track, default_audio,
};
use crate::plan::{ExternalAudioError, PlanError, encoded_segments};

/// A whole source as a part of a presentation.
#[derive(Debug, Clone, Copy)]
pub struct JoinedPart<'a> {
    /// Name of the source, used to find its objects.
    pub source: SourceName,
    /// Its index.
    pub index: &'a Index,
}

/// Why sources cannot be joined.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JoinError {
    /// The list of parts is empty.
    #[error("there are no parts")]
    NoParts,
    /// A part is itself a joined presentation. Join its parts instead.
    #[error("part {part} is not one whole source")]
    NotSingleSource {
        /// Number of the part, counted from 0.
        part: usize,
    },
    /// More than [`PARTS_MAX`] parts, or more objects or samples than one index can have.
    #[error("there are too many parts; at most {PARTS_MAX} can be joined")]
    TooMany,
    /// A part has no video.
    #[error("part {part} has no video")]
    NoVideo {
        /// Number of the part, counted from 0.
        part: usize,
    },
    /// Some parts have audio and others have none, or the audio of a part is not copied.
    #[error("the audio of part {part} cannot be joined to that of the others")]
    Audio {
        /// Number of the part, counted from 0.
        part: usize,
    },
    /// A track of a part has no presented samples.
    #[error("part {part} has a track in which nothing is shown")]
    Empty {
        /// Number of the part, counted from 0.
        part: usize,
    },
    /// The audio of a part cannot be cut at the segments of its video.
    #[error("the audio of part {part} cannot be cut along its video")]
    ExternalAudio {
        /// Number of the part, counted from 0.
        part: usize,
        /// The cause.
        source: ExternalAudioError,
    },
    /// A sample of a part, or the gap after its last one, has a duration that the common clock cannot
    /// express.
    #[error("a frame or a pause of part {part} is too long for it to be joined to others")]
    Timing {
        /// Number of the part, counted from 0.
        part: usize,
    },
    /// The joined video cannot be cut.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

impl Index {
    /// The index of a presentation that shows whole sources one after another, with the video track and the
    /// default audio track of each.
    ///
    /// The duration of a part is the longer of its video and its audio. Video is copied if that of every
    /// part is, with a discontinuity and an init segment for each decoder configuration; otherwise it is
    /// only encoded. Audio is copied. Size, frame rate and language are those of the first part. Same
    /// arguments, same index.
    pub fn join(parts: &[JoinedPart<'_>]) -> Result<Self, JoinError> {
        let first = parts.first().ok_or(JoinError::NoParts)?.index;
        if PARTS_MAX < parts.len() {
            return Err(JoinError::TooMany);
        }
        if let Some(part) = parts.iter().position(|part| !part.index.parts.is_empty()) {
            return Err(JoinError::NotSingleSource { part });
        }
        let mut objects = Objects::default();
        let object_numbers: Vec<_> = parts
            .iter()
            .map(|part| objects.add(part.source, &part.index.objects))
            .collect::<Result<_, _>>()?;
        let videos: Vec<_> = parts
            .iter()
            .enumerate()
            .map(|(part, JoinedPart { index, .. })| Ok(index.video().ok_or(JoinError::NoVideo { part })?.0))
            .collect::<Result<_, JoinError>>()?;
        // Parts begin at whole ticks of the video, so that frame times do not drift.
        let clock = JoinTimescale::of(videos.iter().map(|track| track.timescale));
        let mut end = 0_i64;
        let time_ranges: Vec<_> = parts
            .iter()
            .map(|part| {
                let begin = end;
                end = end.saturating_add(clock.duration_of(part.index));
                clock.instant(begin)..clock.instant(end)
            })
            .collect();
        let track_part = |part: usize, track: Track, copy| TrackPart {
            track,
            copy,
            time_range: time_ranges[part].clone(),
            object_numbers: &object_numbers[part],
        };
        let mut audio_parts = Vec::new();
        for (part, JoinedPart { index, .. }) in parts.iter().enumerate() {
            audio_parts.push(audio_of_part(index, part)?.map(|(track, copy)| track_part(part, track, copy)));
        }
        let has_audio = audio_parts.first().is_some_and(Option::is_some);
        if let Some(part) = audio_parts.iter().position(|audio| audio.is_some() != has_audio) {
            return Err(JoinError::Audio { part });
        }
        let copies = parts.iter().map(|part| part.index.plan.video.clone());
        let videos: Vec<_> = (0..)
            .zip(videos.into_iter().zip(copies))
            .map(|(part, (track, copy))| track_part(part, track.clone(), copy))
            .collect();
        let (video, copy) = splice_video(&videos)?;
        let encoded_video = encoded_segments(&video, &copy)?;
        let mut plan = SegmentPlan { video: copy, encoded_video, ..SegmentPlan::default() };
        let mut tracks = vec![video];
        if has_audio {
            let audio_track_parts: Vec<_> = audio_parts.into_iter().flatten().collect();
            let (track, copy) = splice_audio(&audio_track_parts)?;
            tracks.push(track);
            plan.audio.push(copy);
            plan.encoded_audio.push(Vec::new());
        }
        check_lengths(&tracks, &plan, &time_ranges)?;
        let left_out = parts.iter().flat_map(|part| part.index.left_out.iter().cloned());
        Ok(Self {
            source_len: objects.0.iter().fold(0, |sum, object| sum.saturating_add(object.len)),
            source_sha256: fingerprint(parts),
            container: first.container,
            objects: objects.0,
            parts: parts.iter().map(part_of).collect(),
            is_truncated: parts.iter().any(|part| part.index.is_truncated),
            left_out: left_out.take(SKIPPED_TRACKS_MAX).collect(),
            tracks,
            plan,
        })
    }
}

/// The default audio track of a part, cut at its video; `None` without audio.
fn audio_of_part(index: &Index, part: usize) -> Result<Option<(Track, Vec<Segment>)>, JoinError> {
    let Some(track) = default_audio(&index.tracks).and_then(|number| index.tracks.get(number)) else {
        return Ok(None);
    };
    if track.media.not_copied().is_some() {
        return Err(JoinError::Audio { part });
    }
    let audio_index = Index { tracks: vec![track.clone()], ..index.clone() };
    let planned = audio_index
        .plan_external_audio(Some(index))
        .map_err(|source| JoinError::ExternalAudio { part, source })?;
    let copy = planned.plan.audio.into_iter().next().filter(|copy| !copy.is_empty());
    planned.tracks.into_iter().next().zip(copy).map(Some).ok_or(JoinError::Audio { part })
}

/// The whole source as a part.
fn part_of(part: &JoinedPart<'_>) -> Part {
    Part { source: part.source, shown_us: 0..part.index.facts().duration_us }
}

/// Rejects segments whose duration does not fit the 32 bits of a sample duration in a fragment: the last
/// sample of a part lasts until the part ends.
fn check_lengths(
    tracks: &[Track],
    plan: &SegmentPlan,
    time_ranges: &[Range<MediaTime>],
) -> Result<(), JoinError> {
    let video_segments = plan.video.iter().chain(&plan.encoded_video);
    let segments = video_segments.zip(std::iter::repeat(tracks.first()));
    let audio_segments = plan.audio.iter().flatten().zip(std::iter::repeat(tracks.last()));
    for (segment, track) in segments.chain(audio_segments) {
        if u64::from(u32::MAX) < segment.duration() {
            let timescale = track.map_or(1, |track| track.timescale);
            let part = time_ranges.iter().position(|range| range.end.is_after(segment.start, timescale));
            return Err(JoinError::Timing { part: part.unwrap_or(0) });
        }
    }
    Ok(())
}

/// Hash of the content: the SHA-256 of every part, in order.
fn fingerprint(parts: &[JoinedPart<'_>]) -> [u8; 32] {
    let mut hash = Sha256::new();
    parts.iter().for_each(|part| hash.update(part.index.source_sha256));
    hash.finalize().into()
}

/// The objects of all parts, deduplicated.
#[derive(Debug, Default)]
struct Objects(Vec<SampleObject>);

impl Objects {
    /// Adds the objects of a source; returns their numbers in the presentation, in order.
    fn add(&mut self, source: SourceName, objects: &[SampleObject]) -> Result<Vec<u8>, JoinError> {
        let number = |object: &SampleObject| {
            let object = SampleObject { source: Some(source), ..*object };
            let index = self.0.iter().position(|other| *other == object);
            let place = index.unwrap_or_else(|| {
                self.0.push(object);
                self.0.len() - 1
            });
            u8::try_from(place).ok().filter(|_| place < OBJECTS_MAX).ok_or(JoinError::TooMany)
        };
        objects.iter().map(number).collect()
    }
}
