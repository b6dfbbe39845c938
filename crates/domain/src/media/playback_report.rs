//! The playback report for the owner of a media: the offered renditions, and the reasons why a track of the
//! source is not copied.

use super::{AudioGain, AudioLevels, LeftOutTrack, Media, MediaFacts, MediaState, Track, TrackKind};
use crate::{Resolution, TrackId};

/// The reason why players do not get a copy of a track.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotCopied {
    /// The reason code, for programs.
    pub reason: NotCopiedReason,
    /// The property of the track, in a few words for people: `open GOP`, `10-bit`, `ProRes`.
    pub detail: String,
}

/// The reason codes. They are documented in `docs/playback-report.md` and never renamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NotCopiedReason {
    /// Players do not support the codec.
    Codec,
    /// A bit depth or chroma format that players do not decode.
    PixelFormat,
    /// Each frame consists of two fields.
    Interlaced,
    /// Frames after a keyframe need frames before it.
    OpenGop,
    /// Keyframes are further apart than the longest segment, or there are none.
    LongGop,
    /// Players cannot apply the source's edit list.
    Edits,
    /// Its timestamps are missing, jump or go backwards.
    Timing,
    /// Its codec or format changes within the track.
    FormatChanges,
    /// Its level, size or rate exceeds the limits of players.
    TooLarge,
    /// A watermark is drawn over the video.
    Watermark,
    /// The video is larger than the media's `maxResolution`.
    AboveMaxResolution,
    /// A decoder was tried and produced no frame.
    DoesNotDecode,
    /// The audio plays levelled, so it is encoded.
    Levelled,
}

impl NotCopiedReason {
    /// All reasons, in the order of the documentation.
    pub const ALL: [Self; 13] = [
        Self::Codec,
        Self::PixelFormat,
        Self::Interlaced,
        Self::OpenGop,
        Self::LongGop,
        Self::Edits,
        Self::Timing,
        Self::FormatChanges,
        Self::TooLarge,
        Self::Watermark,
        Self::AboveMaxResolution,
        Self::DoesNotDecode,
        Self::Levelled,
    ];

    /// The code in responses and rows.
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
            Self::Watermark => "watermark",
            Self::AboveMaxResolution => "above_max_resolution",
            Self::DoesNotDecode => "does_not_decode",
            Self::Levelled => "levelled",
        }
    }

    /// The reason with this code.
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == text)
    }
}

/// The renditions of a ready media, and its tracks that are not offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaybackReport {
    /// Bytes at the end of the source are missing; the playable prefix is used.
    pub is_truncated: bool,
    /// The copy of the video failed to decode and was withdrawn.
    pub does_not_decode: bool,
    /// The state of its audio levels; `None` unless its owner wants them levelled.
    pub audio_levels: Option<AudioLevels>,
    /// Names of encoded renditions that failed and were withdrawn.
    pub broken_renditions: Vec<String>,
    /// Video first: the copy, then the encoded renditions, largest first. Then audio in the order of the
    /// source.
    pub renditions: Vec<OfferedRendition>,
    /// The tracks that players do not get as a copy.
    pub not_copied: Vec<NotCopiedTrack>,
    /// The tracks of the source that players do not get at all.
    pub left_out: Vec<LeftOutTrack>,
}

/// A track that players do not get as a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotCopiedTrack {
    /// The track.
    pub track: TrackId,
    /// True for video, false for audio.
    pub is_video: bool,
    /// The reason.
    pub why: NotCopied,
}

/// One rendition of the manifests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedRendition {
    /// Its name in addresses: `video`, `720p`, `audio`, `aac-2`.
    pub name: String,
    /// The track of the source it is made from.
    pub track: TrackId,
    /// For video: its name on the ladder.
    pub resolution: Option<Resolution>,
    /// True if encoded on demand; false if served from the bytes of the source.
    pub is_encoded: bool,
}

impl Media {
    /// The report; `None` unless the media is ready.
    pub fn playback_report(&self) -> Option<PlaybackReport> {
        let MediaState::Ready { facts, .. } = &self.state else { return None };
        let mut report = PlaybackReport {
            is_truncated: facts.is_truncated,
            does_not_decode: facts.does_not_decode,
            audio_levels: self.audio_levels(),
            broken_renditions: facts.broken_renditions.clone(),
            renditions: Vec::new(),
            not_copied: Vec::new(),
            left_out: facts.left_out.clone(),
        };
        let gains = self.gains();
        let mut audio_count = 0;
        for track in &facts.tracks {
            match track.kind {
                TrackKind::Video { .. } => self.report_video(track, facts, &mut report),
                TrackKind::Audio { .. } => {
                    let gain = gains.get(audio_count).copied().flatten();
                    report_audio(track, audio_count, gain, &mut report);
                    audio_count += 1;
                }
            }
        }
        let PlaybackReport { broken_renditions, renditions, does_not_decode, .. } = &mut report;
        renditions.retain(|rendition| !rendition.is_encoded || !broken_renditions.contains(&rendition.name));
        if *does_not_decode {
            // No video rendition is offered, so the failed ones are not listed individually.
            let is_video =
                |name: &str| name.split(' ').next().is_some_and(|name| Resolution::from_text(name).is_some());
            broken_renditions.retain(|name| !is_video(name));
        }
        Some(report)
    }

    fn report_video(&self, track: &Track, facts: &MediaFacts, report: &mut PlaybackReport) {
        let source_resolution = facts.source_resolution.unwrap_or(Resolution::P240);
        let why = self.video_not_copied(track, source_resolution, report.does_not_decode);
        let offered = |name: &str, resolution, is_encoded| OfferedRendition {
            name: name.to_owned(),
            track: track.id,
            resolution: Some(resolution),
            is_encoded,
        };
        if why.is_none() {
            report.renditions.push(offered("video", source_resolution, false));
        }
        // A source that does not decode cannot be encoded either.
        if !report.does_not_decode {
            report.renditions.extend(facts.rungs.iter().map(|rung| offered(rung.as_str(), *rung, true)));
        }
        report.not_copied.extend(why.map(|why| NotCopiedTrack { track: track.id, is_video: true, why }));
    }

    /// The first reason that an owner can fix, or would look for.
    fn video_not_copied(
        &self,
        track: &Track,
        source_resolution: Resolution,
        does_not_decode: bool,
    ) -> Option<NotCopied> {
        let because = |reason, detail: &str| NotCopied { reason, detail: detail.to_owned() };
        if does_not_decode {
            return Some(because(NotCopiedReason::DoesNotDecode, "it has no frame that decodes"));
        }
        let above = || because(NotCopiedReason::AboveMaxResolution, "above maxResolution");
        let is_above = source_resolution > self.settings.max_resolution;
        track.not_copied.clone().or_else(|| is_above.then(above))
    }
}

fn report_audio(track: &Track, number: usize, gain: Option<AudioGain>, report: &mut PlaybackReport) {
    let name = |name: &str| if number == 0 { name.to_owned() } else { format!("{name}-{}", number + 1) };
    // One that cannot be encoded gives way to what is offered without a gain.
    let levelled = gain.map(|gain| name(&levelled_name(gain)));
    if let Some(name) = levelled.filter(|name| !report.broken_renditions.contains(name)) {
        let rendition = OfferedRendition { name, track: track.id, resolution: None, is_encoded: true };
        report.renditions.push(rendition);
        let levelled =
            || NotCopied { reason: NotCopiedReason::Levelled, detail: "its loudness is changed".to_owned() };
        let why = track.not_copied.clone().unwrap_or_else(levelled);
        report.not_copied.push(NotCopiedTrack { track: track.id, is_video: false, why });
        return;
    }
    let mut add_rendition = |text: &str, is_encoded| {
        let rendition = OfferedRendition { name: name(text), track: track.id, resolution: None, is_encoded };
        report.renditions.push(rendition);
    };
    // A copy that is offered only with the copied video is withdrawn with it.
    let withdrawn = || NotCopied {
        reason: NotCopiedReason::Codec,
        detail: "its copy is only offered with the copy of the video".to_owned(),
    };
    let is_withdrawn = report.does_not_decode && track.is_encoded;
    let why = track.not_copied.clone().or_else(|| is_withdrawn.then(withdrawn));
    if why.is_none() {
        add_rendition("audio", false);
    }
    if track.is_encoded {
        add_rendition("aac", true);
    }
    report.not_copied.extend(why.map(|why| NotCopiedTrack { track: track.id, is_video: false, why }));
}

/// The name of the levelled rendition of the first audio track, as in addresses.
fn levelled_name(gain: AudioGain) -> String {
    let direction = if gain.centibels < 0 { "down" } else { "up" };
    let limited = if gain.is_limited { "-limited" } else { "" };
    format!("aac-{direction}{}{limited}", gain.centibels.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::media::tests::{facts, finished};
    use crate::{Loudness, LoudnessTarget, MediaLoudness, Random, Timestamp, TrackKind, TrackLoudness};

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

    fn video_track() -> Track {
        track(TrackKind::Video { width: 854, height: 480, frame_rate: None }, None, false)
    }

    fn audio_track(why: Option<&str>, is_encoded: bool) -> Track {
        let kind = TrackKind::Audio { language_code: "und".into(), language_name: "Undetermined".into() };
        track(kind, why, is_encoded)
    }

    /// The renditions of such a media (`*` = encoded), and the reasons why tracks are not copied.
    fn reported(change: impl FnOnce(&mut MediaFacts)) -> (Vec<String>, Vec<String>) {
        let mut facts = facts(Some(Resolution::P480));
        facts.rungs = vec![Resolution::P360, Resolution::P240];
        change(&mut facts);
        let report = finished(facts).playback_report().expect("it is ready");
        let name = |rendition: &OfferedRendition| {
            format!("{}{}", rendition.name, if rendition.is_encoded { "*" } else { "" })
        };
        let why = report.not_copied.iter().map(|not_copied| not_copied.why.detail.clone());
        (report.renditions.iter().map(name).collect(), why.collect())
    }

    #[test]
    fn audio_report_matches_manifest() {
        let check = |audio_tracks: &[Track], expected: &[&str], why: &[&str]| {
            let (renditions, reasons) = reported(|facts| facts.tracks = audio_tracks.to_vec());
            assert_eq!(renditions, expected);
            assert_eq!(reasons, why);
        };
        check(&[audio_track(None, false)], &["audio"], &[]);
        check(&[audio_track(Some("AC-3"), true)], &["aac*"], &["AC-3"]);
        check(&[audio_track(None, true)], &["audio", "aac*"], &[]);
        check(&[audio_track(Some("PCM"), false)], &[], &["PCM"]);
        check(&[audio_track(None, false), audio_track(None, true)], &["audio", "audio-2", "aac-2*"], &[]);
    }

    #[test]
    fn broken_renditions_are_not_reported() {
        let tracks = vec![video_track(), audio_track(None, true)];
        let healthy = reported(|facts| facts.tracks = tracks.clone());
        assert_eq!(healthy.0, ["video", "360p*", "240p*", "audio", "aac*"]);
        let broken = reported(|facts| {
            facts.tracks = tracks.clone();
            facts.broken_renditions = vec!["240p".into(), "aac".into()];
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
    fn levelled_audio_replaces_copy_and_encode() {
        let check = |gains: [Option<AudioGain>; 2], broken: &[&str], expected: &[&str], why: &[&str]| {
            let mut facts = facts(None);
            facts.tracks = vec![audio_track(None, false), audio_track(Some("AC-3"), true)];
            facts.broken_renditions = broken.iter().map(|name| (*name).to_owned()).collect();
            let mut media = finished(facts);
            media.settings.optimize_audio = true;
            let levels = Loudness { integrated: Some(-2_000), range: 300, true_peak: -400 };
            let track = |gain| Some(TrackLoudness { before: levels, gain, after: levels });
            let tracks = gains.into_iter().map(track).collect();
            media.loudness = Some(MediaLoudness { target: LoudnessTarget::DEFAULT, tracks });
            let report = media.playback_report().expect("it is ready");
            assert_eq!(report.renditions.iter().map(|one| &*one.name).collect::<Vec<_>>(), expected);
            let reasons: Vec<_> = report.not_copied.iter().map(|one| one.why.reason.as_str()).collect();
            assert_eq!(reasons, why);
        };
        let gain = |centibels, is_limited| Some(AudioGain { centibels, is_limited });
        check([None, None], &[], &["audio", "aac-2"], &["codec"]);
        check([gain(350, true), None], &[], &["aac-up350-limited", "aac-2"], &["levelled", "codec"]);
        check([None, gain(-120, false)], &[], &["audio", "aac-down120-2"], &["codec"]);
        check([gain(1, false), None], &["aac-up1"], &["audio", "aac-2"], &["codec"]);
    }

    #[test]
    fn undecodable_video_is_reported_once() {
        let mut facts = facts(Some(Resolution::P480));
        facts.tracks = vec![video_track(), audio_track(None, true)];
        facts.broken_renditions = vec!["480p".into(), "240p in part".into(), "aac".into()];
        let broken = |facts| finished(facts).playback_report().expect("it is ready").broken_renditions;
        assert_eq!(broken(facts.clone()), ["480p", "240p in part", "aac"]);
        assert_eq!(broken(MediaFacts { does_not_decode: true, ..facts }), ["aac"]);
    }

    #[test]
    fn not_copied_reasons_round_trip() {
        for reason in NotCopiedReason::ALL {
            assert_eq!(NotCopiedReason::from_text(reason.as_str()), Some(reason));
        }
        assert_eq!(NotCopiedReason::from_text("OpenGop"), None);
    }
}
