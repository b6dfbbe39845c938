//! How a media plays, for its owner: which renditions players are offered, and why a track of the source is not among them.

use super::{Media, MediaFacts, MediaState, Track, TrackKind};
use crate::{Resolution, TrackId};

/// Why players do not get a track as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotCopied {
    /// The kind of reason, which programs compare.
    pub reason: NotCopiedReason,
    /// What was found, in a few words for people: `open GOP`, `10-bit`, `ProRes`.
    pub detail: String,
}

/// The kinds of reason. Codes are documented in `docs/playback-report.md` and never renamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NotCopiedReason {
    /// Players do not know the codec.
    Codec,
    /// More bits or other colour samples than players decode.
    PixelFormat,
    /// Two fields make one picture.
    Interlaced,
    /// A keyframe is followed by pictures that need the ones before it.
    OpenGop,
    /// Keyframes lie further apart than a segment may last, or there are none.
    LongGop,
    /// The source's own edits cannot be carried out by a player.
    Edits,
    /// Its time stamps are missing, jump or go backwards.
    Timing,
    /// It changes its codec or its format on the way.
    FormatChanges,
    /// Level, size or rate are beyond what players decode.
    TooLarge,
    /// The picture is larger than the media's `maxResolution`.
    AboveMaxResolution,
    /// It was tried, and no picture came out.
    DoesNotDecode,
}

impl NotCopiedReason {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 11] = [
        Self::Codec,
        Self::PixelFormat,
        Self::Interlaced,
        Self::OpenGop,
        Self::LongGop,
        Self::Edits,
        Self::Timing,
        Self::FormatChanges,
        Self::TooLarge,
        Self::AboveMaxResolution,
        Self::DoesNotDecode,
    ];

    /// The code as clients and rows see it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Codec => "codec",
            Self::PixelFormat => "pixel_format",
            Self::Interlaced => "interlaced",
            Self::OpenGop => "open_gop",
            Self::LongGop => "long_gop",
            Self::Edits => "edits",
            Self::Timing => "timing",
            Self::FormatChanges => "format_changes",
            Self::TooLarge => "too_large",
            Self::AboveMaxResolution => "above_max_resolution",
            Self::DoesNotDecode => "does_not_decode",
        }
    }

    /// The reason with this code.
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == text)
    }
}

/// What a ready media offers to players.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaybackReport {
    /// Bytes at the end of the source are missing and the playable prefix was kept.
    pub is_truncated: bool,
    /// The copy of the picture was tried and withdrawn.
    pub does_not_decode: bool,
    /// Pictures first, the copy before the encoded ones and the largest of these first; then the sound in the order of the source.
    pub renditions: Vec<OfferedRendition>,
    /// The tracks that players do not get as they are.
    pub not_copied: Vec<WithheldTrack>,
}

/// A track that players do not get as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithheldTrack {
    /// Which one.
    pub track: TrackId,
    /// It is a picture; else sound.
    pub is_picture: bool,
    /// Why.
    pub why: NotCopied,
}

/// One rendition that manifests list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedRendition {
    /// What stands for it in addresses: `video`, `720p`, `audio`, `aac-2`.
    pub name: String,
    /// The track of the source that it is made from.
    pub track: TrackId,
    /// Of a picture: its name on the ladder.
    pub resolution: Option<Resolution>,
    /// Made when it is watched; else the bytes of the source are served.
    pub is_encoded: bool,
}

impl Media {
    /// How it plays; `None` unless it is ready.
    pub fn playback_report(&self) -> Option<PlaybackReport> {
        let MediaState::Ready { facts, .. } = &self.state else { return None };
        let mut report = PlaybackReport {
            is_truncated: facts.is_truncated,
            does_not_decode: facts.does_not_decode,
            renditions: Vec::new(),
            not_copied: Vec::new(),
        };
        let mut sounds = 0;
        for track in &facts.tracks {
            match track.kind {
                TrackKind::Video { .. } => self.report_picture(track, facts, &mut report),
                TrackKind::Audio { .. } => {
                    report_sound(track, sounds, &mut report);
                    sounds += 1;
                }
            }
        }
        Some(report)
    }

    fn report_picture(&self, track: &Track, facts: &MediaFacts, report: &mut PlaybackReport) {
        let source = facts.source_resolution.unwrap_or(Resolution::P240);
        let why = self.picture_not_copied(track, source, report.does_not_decode);
        let offer = |name: &str, resolution, is_encoded| OfferedRendition {
            name: name.to_owned(),
            track: track.id,
            resolution: Some(resolution),
            is_encoded,
        };
        if why.is_none() {
            report.renditions.push(offer("video", source, false));
        }
        // What does not decode cannot be encoded either.
        if !report.does_not_decode {
            report.renditions.extend(facts.rungs.iter().map(|rung| offer(rung.as_str(), *rung, true)));
        }
        report.not_copied.extend(why.map(|why| WithheldTrack { track: track.id, is_picture: true, why }));
    }

    /// The first reason an owner can do something about, or would look for.
    fn picture_not_copied(
        &self,
        track: &Track,
        source: Resolution,
        does_not_decode: bool,
    ) -> Option<NotCopied> {
        let because = |reason, detail: &str| NotCopied { reason, detail: detail.to_owned() };
        if does_not_decode {
            return Some(because(NotCopiedReason::DoesNotDecode, "no picture came out of it"));
        }
        let above = || because(NotCopiedReason::AboveMaxResolution, "above maxResolution");
        let is_above = source > self.settings.max_resolution;
        track.not_copied.clone().or_else(|| is_above.then(above))
    }
}

fn report_sound(track: &Track, number: usize, report: &mut PlaybackReport) {
    let is_encoded = track.not_copied.is_some();
    let name = if is_encoded { "aac" } else { "audio" };
    let name = if number == 0 { name.to_owned() } else { format!("{name}-{}", number + 1) };
    report.renditions.push(OfferedRendition { name, track: track.id, resolution: None, is_encoded });
    let why = track.not_copied.clone();
    report.not_copied.extend(why.map(|why| WithheldTrack { track: track.id, is_picture: false, why }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_is_read_back_from_its_code() {
        for reason in NotCopiedReason::ALL {
            assert_eq!(NotCopiedReason::from_text(reason.as_str()), Some(reason));
        }
        assert_eq!(NotCopiedReason::from_text("OpenGop"), None);
    }
}
