//! Whole sources, shown one after another.

use std::ops::Range;

use sha2::{Digest as _, Sha256};

use super::splice::{Clock, Instant, Spliced, splice_sound, splice_video};
use crate::index::{
    Index, LEFT_OUT_MAX, OBJECTS_MAX, PARTS_MAX, Part, SampleObject, Segment, SegmentPlan, SourceName, Track,
    default_audio,
};
use crate::plan::{AlongError, PlanError, encoded_segments};

/// A source that is shown as a whole.
#[derive(Debug, Clone, Copy)]
pub struct JoinedPart<'a> {
    /// Its name, under which its objects are found.
    pub source: SourceName,
    /// Its index.
    pub index: &'a Index,
}

/// Why sources cannot be shown one after another.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JoinError {
    /// There is nothing to join.
    #[error("there are no parts")]
    Nothing,
    /// A part is a presentation itself: its own parts are to be joined.
    #[error("part {part} is not one whole source")]
    NotWhole {
        /// Which one, counted from 0.
        part: usize,
    },
    /// More than [`PARTS_MAX`] parts, or more objects or samples than one index holds.
    #[error("there are too many parts; at most {PARTS_MAX} can be joined")]
    TooMany,
    /// A part has no video.
    #[error("part {part} has no video")]
    NoVideo {
        /// Which one, counted from 0.
        part: usize,
    },
    /// Some parts have sound and others none, or that of a part is not copied.
    #[error("the sound of part {part} cannot be joined to that of the others")]
    Sound {
        /// Which one, counted from 0.
        part: usize,
    },
    /// A track of a part has no samples that are shown.
    #[error("part {part} has a track in which nothing is shown")]
    Empty {
        /// Which one, counted from 0.
        part: usize,
    },
    /// The sound of a part cannot be cut along its video.
    #[error("the sound of part {part} cannot be cut along its video")]
    Along {
        /// Which one, counted from 0.
        part: usize,
        /// Why.
        source: AlongError,
    },
    /// A sample of a part, or the pause behind its last one, lasts longer than the clock of all can say.
    #[error("a picture or a pause of part {part} lasts too long for it to be joined to others")]
    Timing {
        /// Which one, counted from 0.
        part: usize,
    },
    /// The pictures of all parts cannot be cut.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

impl Index {
    /// The index of a presentation that shows these sources one after another, each as a whole: its video
    /// track, and the sound that plays when nobody chose.
    ///
    /// A part lasts as long as its video or its sound does, whichever ends last. Video is copied where that
    /// of every part is, with a discontinuity and an init segment for each way in which it is decoded;
    /// otherwise it is only encoded. Sound is copied. Size, frame rate and language are those of the first
    /// part. Same arguments, same index.
    pub fn join(parts: &[JoinedPart<'_>]) -> Result<Self, JoinError> {
        let first = parts.first().ok_or(JoinError::Nothing)?.index;
        if PARTS_MAX < parts.len() {
            return Err(JoinError::TooMany);
        }
        if let Some(part) = parts.iter().position(|part| !part.index.parts.is_empty()) {
            return Err(JoinError::NotWhole { part });
        }
        let mut objects = Objects::default();
        let numbers: Vec<_> = parts
            .iter()
            .map(|part| objects.take(part.source, &part.index.objects))
            .collect::<Result<_, _>>()?;
        let videos: Vec<_> = parts
            .iter()
            .enumerate()
            .map(|(part, JoinedPart { index, .. })| Ok(index.video().ok_or(JoinError::NoVideo { part })?.0))
            .collect::<Result<_, JoinError>>()?;
        // Parts begin at ticks of the video, so that pictures do not move against each other.
        let clock = Clock::of(videos.iter().map(|track| track.timescale));
        let mut end = 0_i64;
        let shown: Vec<_> = parts
            .iter()
            .map(|part| {
                let begin = end;
                end = end.saturating_add(clock.length(part.index));
                clock.instant(begin)..clock.instant(end)
            })
            .collect();
        let spliced = |part: usize, track: Track, copy| Spliced {
            track,
            copy,
            shown: shown[part].clone(),
            numbers: &numbers[part],
        };
        let mut sounds = Vec::new();
        for (part, JoinedPart { index, .. }) in parts.iter().enumerate() {
            sounds.push(sound(index, part)?.map(|(track, copy)| spliced(part, track, copy)));
        }
        let has_sound = sounds.first().is_some_and(Option::is_some);
        if let Some(part) = sounds.iter().position(|sound| sound.is_some() != has_sound) {
            return Err(JoinError::Sound { part });
        }
        let copies = parts.iter().map(|part| part.index.plan.video.clone());
        let videos: Vec<_> = (0..)
            .zip(videos.into_iter().zip(copies))
            .map(|(part, (track, copy))| spliced(part, track.clone(), copy))
            .collect();
        let (video, copy) = splice_video(&videos)?;
        let encoded_video = encoded_segments(&video, &copy)?;
        let mut plan = SegmentPlan { video: copy, encoded_video, ..SegmentPlan::default() };
        let mut tracks = vec![video];
        if has_sound {
            let sounds: Vec<_> = sounds.into_iter().flatten().collect();
            let (track, copy) = splice_sound(&sounds)?;
            tracks.push(track);
            plan.audio.push(copy);
            plan.encoded_audio.push(Vec::new());
        }
        check_lengths(&tracks, &plan, &shown)?;
        let left_out = parts.iter().flat_map(|part| part.index.left_out.iter().cloned());
        Ok(Self {
            source_len: objects.0.iter().fold(0, |sum, object| sum.saturating_add(object.len)),
            source_sha256: fingerprint(parts),
            container: first.container,
            objects: objects.0,
            parts: parts.iter().map(part_of).collect(),
            is_truncated: parts.iter().any(|part| part.index.is_truncated),
            left_out: left_out.take(LEFT_OUT_MAX).collect(),
            tracks,
            plan,
        })
    }
}

/// The sound of a part that plays when nobody chose, cut along its video; `None` without sound.
fn sound(index: &Index, part: usize) -> Result<Option<(Track, Vec<Segment>)>, JoinError> {
    let Some(track) = default_audio(&index.tracks).and_then(|place| index.tracks.get(place)) else {
        return Ok(None);
    };
    if track.media.not_copied().is_some() {
        return Err(JoinError::Sound { part });
    }
    let alone = Index { tracks: vec![track.clone()], ..index.clone() };
    let along = alone.sound_along(Some(index)).map_err(|source| JoinError::Along { part, source })?;
    let copy = along.plan.audio.into_iter().next().filter(|copy| !copy.is_empty());
    along.tracks.into_iter().next().zip(copy).map(Some).ok_or(JoinError::Sound { part })
}

/// What a part shows of its source: all of it.
fn part_of(part: &JoinedPart<'_>) -> Part {
    Part { source: part.source, shown_us: 0..part.index.facts().duration_us }
}

/// Refuses segments whose length does not fit the 32 bits that a fragment has for the duration of a sample:
/// the last picture or packet of a part lasts until the part ends.
fn check_lengths(tracks: &[Track], plan: &SegmentPlan, shown: &[Range<Instant>]) -> Result<(), JoinError> {
    let of_video = plan.video.iter().chain(&plan.encoded_video);
    let segments = of_video.zip(std::iter::repeat(tracks.first()));
    let of_audio = plan.audio.iter().flatten().zip(std::iter::repeat(tracks.last()));
    for (segment, track) in segments.chain(of_audio) {
        if u64::from(u32::MAX) < segment.duration() {
            let timescale = track.map_or(1, |track| track.timescale);
            let part = shown.iter().position(|shown| shown.end.is_behind(segment.start, timescale));
            return Err(JoinError::Timing { part: part.unwrap_or(0) });
        }
    }
    Ok(())
}

/// Names what is shown: the bytes of all parts, in their order.
fn fingerprint(parts: &[JoinedPart<'_>]) -> [u8; 32] {
    let mut hash = Sha256::new();
    parts.iter().for_each(|part| hash.update(part.index.source_sha256));
    hash.finalize().into()
}

/// The objects of all parts, each once.
#[derive(Debug, Default)]
struct Objects(Vec<SampleObject>);

impl Objects {
    /// The numbers that the objects of a source have among all, in their order.
    fn take(&mut self, source: SourceName, objects: &[SampleObject]) -> Result<Vec<u8>, JoinError> {
        let number = |object: &SampleObject| {
            let object = SampleObject { source: Some(source), ..*object };
            let place = self.0.iter().position(|known| *known == object);
            let place = place.unwrap_or_else(|| {
                self.0.push(object);
                self.0.len() - 1
            });
            u8::try_from(place).ok().filter(|_| place < OBJECTS_MAX).ok_or(JoinError::TooMany)
        };
        objects.iter().map(number).collect()
    }
}
