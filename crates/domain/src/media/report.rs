//! How a media plays, for its owner: which renditions players are offered, and why a track of the source is
//! not among them.

use super::{LeftOutTrack, Media, MediaFacts, MediaState, Track, TrackKind};
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
    /// Names of encoded renditions that were tried and withdrawn.
    pub broken: Vec<String>,
    /// Pictures first, the copy before the encoded ones and the largest of these first; then the sound in the
    /// order of the source.
    pub renditions: Vec<OfferedRendition>,
    /// The tracks that players do not get as they are.
    pub not_copied: Vec<WithheldTrack>,
    /// The tracks of the source that players do not get at all.
    pub left_out: Vec<LeftOutTrack>,
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
            broken: facts.broken.clone(),
            renditions: Vec::new(),
            not_copied: Vec::new(),
            left_out: facts.left_out.clone(),
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
        let PlaybackReport { broken, renditions, does_not_decode, .. } = &mut report;
        renditions.retain(|rendition| !rendition.is_encoded || !broken.contains(&rendition.name));
        if *does_not_decode {
            // No video rendition is offered, so the failed ones are not listed one by one.
            let is_picture =
                |name: &str| name.split(' ').next().is_some_and(|name| Resolution::from_text(name).is_some());
            broken.retain(|name| !is_picture(name));
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
    let mut offer = |name: &str, is_encoded| {
        let name = if number == 0 { name.to_owned() } else { format!("{name}-{}", number + 1) };
        report.renditions.push(OfferedRendition { name, track: track.id, resolution: None, is_encoded });
    };
    // A copy that stands beside the copied picture goes with it.
    let goes_along = || NotCopied {
        reason: NotCopiedReason::Codec,
        detail: "its copy stands beside that of the picture alone".to_owned(),
    };
    let is_gone = report.does_not_decode && track.is_encoded;
    let why = track.not_copied.clone().or_else(|| is_gone.then(goes_along));
    if why.is_none() {
        offer("audio", false);
    }
    if track.is_encoded {
        offer("aac", true);
    }
    report.not_copied.extend(why.map(|why| WithheldTrack { track: track.id, is_picture: false, why }));
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::media::tests::{facts, finished};
    use crate::{Random, Timestamp, TrackKind};

    struct Zeros;

    impl Random for Zeros {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(0);
        }
    }

    fn track(kind: TrackKind, why: Option<&str>, is_encoded: bool) -> Track {
        let not_copied =
            why.map(|detail| NotCopied { reason: NotCopiedReason::Codec, detail: detail.to_owned() });
        Track { id: TrackId::new(Timestamp::from_micros(0), &Zeros), kind, not_copied, is_encoded }
    }

    fn picture() -> Track {
        track(TrackKind::Video { width: 854, height: 480, frame_rate: None }, None, false)
    }

    fn sound(why: Option<&str>, is_encoded: bool) -> Track {
        let kind = TrackKind::Audio { language_code: "und".into(), language_name: "Undetermined".into() };
        track(kind, why, is_encoded)
    }

    /// The renditions of such a media, encoded ones with a star; and why tracks are not copied.
    fn reported(change: impl FnOnce(&mut MediaFacts)) -> (Vec<String>, Vec<String>) {
        let mut facts = facts(Some(Resolution::P480));
        facts.rungs = vec![Resolution::P360, Resolution::P240];
        change(&mut facts);
        let report = finished(facts).playback_report().expect("it is ready");
        let name = |rendition: &OfferedRendition| {
            format!("{}{}", rendition.name, if rendition.is_encoded { "*" } else { "" })
        };
        let why = report.not_copied.iter().map(|withheld| withheld.why.detail.clone());
        (report.renditions.iter().map(name).collect(), why.collect())
    }

    #[test]
    fn sound_is_reported_as_it_is_listed() {
        let check = |sounds: &[Track], expected: &[&str], why: &[&str]| {
            let (renditions, reasons) = reported(|facts| facts.tracks = sounds.to_vec());
            assert_eq!(renditions, expected);
            assert_eq!(reasons, why);
        };
        check(&[sound(None, false)], &["audio"], &[]);
        check(&[sound(Some("AC-3"), true)], &["aac*"], &["AC-3"]);
        check(&[sound(None, true)], &["audio", "aac*"], &[]);
        check(&[sound(Some("PCM"), false)], &[], &["PCM"]);
        check(&[sound(None, false), sound(None, true)], &["audio", "audio-2", "aac-2*"], &[]);
    }

    #[test]
    fn what_was_tried_and_failed_is_not_reported_as_offered() {
        let tracks = vec![picture(), sound(None, true)];
        let whole = reported(|facts| facts.tracks = tracks.clone());
        assert_eq!(whole.0, ["video", "360p*", "240p*", "audio", "aac*"]);
        let broken = reported(|facts| {
            facts.tracks = tracks.clone();
            facts.broken = vec!["240p".into(), "aac".into()];
        });
        assert_eq!(broken.0, ["video", "360p*", "audio"]);
        let withdrawn = reported(|facts| {
            facts.tracks = tracks;
            facts.does_not_decode = true;
        });
        assert_eq!(withdrawn.0, ["aac*"]);
        assert_eq!(withdrawn.1.len(), 2);
    }

    #[test]
    fn pictures_that_do_not_decode_are_reported_once() {
        let mut facts = facts(Some(Resolution::P480));
        facts.tracks = vec![picture(), sound(None, true)];
        facts.broken = vec!["480p".into(), "240p in part".into(), "aac".into()];
        let broken = |facts| finished(facts).playback_report().expect("it is ready").broken;
        assert_eq!(broken(facts.clone()), ["480p", "240p in part", "aac"]);
        assert_eq!(broken(MediaFacts { does_not_decode: true, ..facts }), ["aac"]);
    }

    #[test]
    fn every_reason_is_read_back_from_its_code() {
        for reason in NotCopiedReason::ALL {
            assert_eq!(NotCopiedReason::from_text(reason.as_str()), Some(reason));
        }
        assert_eq!(NotCopiedReason::from_text("OpenGop"), None);
    }
}
