//! Joins ranges of sources into one presentation.

use std::ops::Range;

use sha2::{Digest as _, Sha256};

use super::clip::ClipError;
use super::same_copy::copy_difference;
use super::splice::{JoinTimescale, MediaTime, TrackPart, splice_audio, splice_video};
use crate::index::{
    Index, NotCopied, NotCopiedReason, OBJECTS_MAX, PARTS_MAX, SKIPPED_TRACKS_MAX, SampleObject, Segment,
    SegmentPlan, SourceName, Track, default_audio,
};
use crate::plan::{PlanError, encoded_audio_cuts, encoded_segments};

/// A range of a source as a part of a presentation.
#[derive(Debug, Clone)]
pub struct SourcePart<'a> {
    /// Name of the source, used to find its objects.
    pub source: SourceName,
    /// The index of the whole source.
    pub index: &'a Index,
    /// The range that is shown, in microseconds of its common timeline. It may end after the source.
    pub range_us: Range<u64>,
}

/// Why parts cannot be joined. Parts are counted from 0.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JoinError {
    /// The list of parts is empty.
    #[error("there are no parts")]
    NoParts,
    /// The number of the base is not that of a part.
    #[error("part {base} is to be the base, but there are {count} parts")]
    NoBase {
        /// Number of the base.
        base: usize,
        /// Number of parts.
        count: usize,
    },
    /// More than [`PARTS_MAX`] parts, those of joined sources included, or more objects or samples than one
    /// index can have.
    #[error("there are too many parts or samples; at most {PARTS_MAX} parts can be joined")]
    TooMany,
    /// Nothing of the source is presented in the range.
    #[error(
        "nothing of part {part} is between {start_us} and {end_us} microseconds; its source lasts {duration_us}"
    )]
    Outside {
        /// Number of the part.
        part: usize,
        /// Start of the range.
        start_us: u64,
        /// End of the range.
        end_us: u64,
        /// Duration of the source.
        duration_us: u64,
    },
    /// A part of several has no video, only audio.
    #[error("part {part} has no video")]
    NoVideo {
        /// Number of the part.
        part: usize,
    },
    /// A part is shorter than one tick of the clock of all parts.
    #[error("part {part} is too short")]
    Empty {
        /// Number of the part.
        part: usize,
    },
    /// A sample of a part, or the gap after its last one, has a duration that the common clock cannot
    /// express.
    #[error("a frame or a pause of part {part} is too long for it to be joined to others")]
    Timing {
        /// Number of the part.
        part: usize,
    },
    /// A part cannot be cut into segments.
    #[error("part {part} cannot be cut: {source}")]
    PartPlan {
        /// Number of the part.
        part: usize,
        /// The cause.
        source: PlanError,
    },
    /// The joined tracks cannot be cut.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

/// A part with the tracks that are used: its video and the default audio of its source.
struct ClippedPart {
    clip: Index,
    video: Track,
    /// `None` if nothing is heard in the range.
    audio: Option<Track>,
}

impl Index {
    /// The index of a presentation that shows these parts one after another. A single part gives its
    /// [`clip`](Self::clip), with all audio tracks; several give their video and the default audio of each.
    ///
    /// `base` is the number of the part that all others follow in size, pixel aspect, colour, language and
    /// overlay.
    /// A part lasts as long as the longer of its video and its audio. A part without audio is silent (C-196).
    ///
    /// Video is copied if that of every part is and shows exactly its frames, and all have the size, the
    /// codec family and the colours of the base. Then there is a discontinuity between two parts, and an init
    /// segment for each decoder configuration. Joined audio is only encoded: a packet of a copy would play
    /// over the end of its part. Same arguments, same index.
    ///
    /// Errors: `NoParts`, `NoBase` and `TooMany` for the list; `Outside`, `PartPlan` and, with several parts,
    /// `NoVideo`, `Empty` and `Timing` for one part; `Plan` if the joined tracks cannot be cut.
    pub fn of_parts(parts: &[SourcePart<'_>], base: usize) -> Result<Self, JoinError> {
        let clips = clips(parts, base)?;
        if let [ClippedPart { clip, .. }] = &clips[..] {
            return Ok(clip.clone());
        }
        let flat_parts: Vec<_> = clips.iter().flat_map(|part| part.clip.parts.iter().cloned()).collect();
        // A stored index has no more, and a part of an edited presentation may have several.
        if PARTS_MAX < flat_parts.len() {
            return Err(JoinError::TooMany);
        }
        let mut objects = Objects::default();
        let object_numbers: Vec<_> =
            clips.iter().map(|part| objects.add(&part.clip.objects)).collect::<Result<_, _>>()?;
        let time_ranges = time_ranges(&clips)?;
        let track_part = |part: usize, track: Option<&Track>, copy| TrackPart {
            track: track.cloned(),
            copy,
            time_range: time_ranges[part].clone(),
            object_numbers: &object_numbers[part],
        };
        let not_copied = not_copied(&clips, base);
        let copy_of = |part: &ClippedPart| match &not_copied {
            None => part.clip.plan.video.clone(),
            Some(_) => Vec::new(),
        };
        let videos: Vec<_> = (0..)
            .zip(&clips)
            .map(|(number, part)| track_part(number, Some(&part.video), copy_of(part)))
            .collect();
        let (video, copy) = splice_video(&videos, base, not_copied)?;
        let encoded_video = match encoded_segments(&video, &copy) {
            Err(_) if !copy.is_empty() => Vec::new(),
            segments => segments?,
        };
        let mut plan = SegmentPlan { video: copy, encoded_video, ..SegmentPlan::default() };
        let mut tracks = vec![video];
        if clips.iter().any(|part| part.audio.is_some()) {
            let audios: Vec<_> = (0..)
                .zip(&clips)
                .map(|(number, part)| track_part(number, part.audio.as_ref(), Vec::new()))
                .collect();
            let source_track = tracks[0].source_track.wrapping_add(1);
            let track = Track { source_track, ..splice_audio(&audios, base)? };
            let segments = [&plan.encoded_video, &plan.video].into_iter().find(|cuts| !cuts.is_empty());
            let video_segments = segments.map(|segments| (tracks[0].timescale, segments.as_slice()));
            plan.encoded_audio.push(encoded_audio_cuts(&track, video_segments)?);
            plan.audio.push(Vec::new());
            tracks.push(track);
        }
        check_lengths(&tracks[0], &plan, &time_ranges)?;
        let left_out = clips.iter().flat_map(|part| part.clip.left_out.iter().cloned());
        Ok(Self {
            source_len: objects.0.iter().fold(0, |sum, object| sum.saturating_add(object.len)),
            source_sha256: fingerprint(&clips, base),
            container: clips[base].clip.container,
            objects: objects.0,
            parts: flat_parts,
            is_truncated: clips.iter().any(|part| part.clip.is_truncated),
            left_out: left_out.take(SKIPPED_TRACKS_MAX).collect(),
            overlay: clips[base].clip.overlay,
            tracks,
            plan,
        })
    }
}

/// The clip of every part. Several parts all have video.
fn clips(parts: &[SourcePart<'_>], base: usize) -> Result<Vec<ClippedPart>, JoinError> {
    match parts.len() {
        0 => return Err(JoinError::NoParts),
        count if PARTS_MAX < count => return Err(JoinError::TooMany),
        count if count <= base => return Err(JoinError::NoBase { base, count }),
        _ => {}
    }
    let is_single = parts.len() == 1;
    let clipped = parts.iter().enumerate().map(|(part, source_part)| {
        let SourcePart { source, index, range_us } = source_part;
        if !is_single && index.video().is_none() {
            return Err(JoinError::NoVideo { part });
        }
        let clip = index.clip(*source, range_us.clone()).map_err(|error| match error {
            ClipError::Outside { start_us, end_us, duration_us } => {
                JoinError::Outside { part, start_us, end_us, duration_us }
            }
            ClipError::Plan(source) => JoinError::PartPlan { part, source },
        })?;
        let default = default_audio(&index.tracks).and_then(|number| index.tracks.get(number));
        let is_default =
            |track: &&Track| default.is_some_and(|other| other.source_track == track.source_track);
        let audio = clip.audio_tracks().map(|(track, _)| track).find(is_default).cloned();
        let video = match clip.video() {
            Some((track, _)) => track,
            None if is_single => clip.tracks.first().ok_or(JoinError::Empty { part })?,
            None => return Err(JoinError::NoVideo { part }),
        };
        Ok(ClippedPart { video: video.clone(), audio, clip })
    });
    clipped.collect()
}

/// Start and end of every part. Parts begin at whole ticks of the video, so that frame times do not drift.
fn time_ranges(clips: &[ClippedPart]) -> Result<Vec<Range<MediaTime>>, JoinError> {
    let clock = JoinTimescale::of(clips.iter().map(|part| part.video.timescale));
    let mut end = 0_i64;
    let ranges = clips.iter().enumerate().map(|(part, clip)| {
        let begin = end;
        end = end.saturating_add(clock.duration_of([&clip.video].into_iter().chain(&clip.audio)));
        if begin < end {
            Ok(clock.instant(begin)..clock.instant(end))
        } else {
            Err(JoinError::Empty { part })
        }
    });
    ranges.collect()
}

/// Why the video of these parts has no copy; `None` if it has one.
fn not_copied(clips: &[ClippedPart], base: usize) -> Option<NotCopied> {
    clips.iter().enumerate().find_map(|(number, part)| {
        let (_, video) = part.clip.video()?;
        let (_, base_video) = clips.get(base)?.clip.video()?;
        let is_overlaid = |why: &NotCopied| why.reason == NotCopiedReason::Watermark && number == base;
        if let Some(why) = video.not_copied.as_ref().filter(|why| is_overlaid(why)) {
            return Some(why.clone());
        }
        if let Some(why) = &video.not_copied {
            return Some(NotCopied::new(why.reason, format!("part {}: {}", number + 1, why.detail)));
        }
        let first =
            part.clip.plan.video.first().and_then(|segment| part.video.samples.get(segment.samples.start));
        // The edit list of the init segment hides them at the start. Between two parts they would be visible.
        let hides_frames =
            first.is_none_or(|sample| 0 < number && sample.pts.saturating_add(part.video.shift) < 0);
        let difference = if hides_frames {
            Some("it does not begin with a closed keyframe".to_owned())
        } else {
            copy_difference(base_video, video)
        };
        difference.map(|why| NotCopied::new(NotCopiedReason::Edits, format!("part {}: {why}", number + 1)))
    })
}

/// Rejects segments whose duration does not fit the 32 bits of a sample duration in a fragment: the last
/// frame of a part lasts until the part ends.
fn check_lengths(
    video: &Track,
    plan: &SegmentPlan,
    time_ranges: &[Range<MediaTime>],
) -> Result<(), JoinError> {
    let is_long = |segment: &&Segment| u64::from(u32::MAX) < segment.duration();
    match plan.video.iter().chain(&plan.encoded_video).find(is_long) {
        None => Ok(()),
        Some(segment) => {
            let is_over = |range: &Range<MediaTime>| range.end.is_after(segment.start, video.timescale);
            Err(JoinError::Timing { part: time_ranges.iter().position(is_over).unwrap_or(0) })
        }
    }
}

/// Hash of the content: the clip of every part, in order, and which of them is the base.
fn fingerprint(clips: &[ClippedPart], base: usize) -> [u8; 32] {
    let mut hash = Sha256::new();
    clips.iter().for_each(|part| hash.update(part.clip.source_sha256));
    hash.update((base as u64).to_be_bytes());
    hash.finalize().into()
}

/// The objects of all parts, deduplicated.
#[derive(Debug, Default)]
struct Objects(Vec<SampleObject>);

impl Objects {
    /// Adds the objects of a clip; returns their numbers in the presentation, in order.
    fn add(&mut self, objects: &[SampleObject]) -> Result<Vec<u8>, JoinError> {
        let number = |object: &SampleObject| {
            let index = self.0.iter().position(|other| other == object);
            let place = index.unwrap_or_else(|| {
                self.0.push(*object);
                self.0.len() - 1
            });
            u8::try_from(place).ok().filter(|_| place < OBJECTS_MAX).ok_or(JoinError::TooMany)
        };
        objects.iter().map(number).collect()
    }
}
