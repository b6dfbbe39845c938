//! The facts about a source for clients, from its index.

use kinora_domain::{
    AspectRatio, FrameRate, LeftOutTrack, MediaDuration, MediaFacts, NotCopied, NotCopiedReason, Random,
    Resolution, Timestamp, Track, TrackId, TrackKind,
};
use kinora_formats::encode::ladder;
use kinora_hls::{audio_names, audio_renditions};
use kinora_index::{AudioTrack, Index, Rung, TrackMedia};

/// ISO 639-2 for "not determined"; also valid in BCP 47.
const UNDETERMINED: &str = "und";
/// Name of a track without language and title.
const UNDETERMINED_NAME: &str = "Undetermined";

/// The facts of a source, limited to the resolution `max`; tracks get new ids.
pub fn facts_of_index(index: &Index, max: Resolution, now: Timestamp, random: &dyn Random) -> MediaFacts {
    let source = index.facts();
    let track =
        |kind, not_copied, is_encoded| Track { id: TrackId::new(now, random), kind, not_copied, is_encoded };
    let reason_of = |media: &TrackMedia| media.not_copied().map(not_copied);
    let video = source.video.as_ref().map(|video| {
        let frame_rate = video
            .frame_rate
            .map(|(numerator, denominator)| FrameRate { numerator, denominator: denominator.max(1) });
        let kind = TrackKind::Video { width: video.display_width, height: video.display_height, frame_rate };
        track(kind, index.video().and_then(|(track, _)| reason_of(&track.media)), false)
    });
    // Names that players show: unique within a media (C-158).
    let names = audio_names(index, UNDETERMINED_NAME).into_iter();
    let copies_video = source
        .video
        .as_ref()
        .is_some_and(|video| Resolution::of_size(video.display_width, video.display_height) <= max);
    let renditions = audio_renditions(index, copies_video);
    let audio = names.zip(index.audio_tracks()).zip(renditions).map(
        |((audio, (source_track, audio_track)), rendition)| {
            let kind = TrackKind::Audio {
                language_code: audio.language.unwrap_or_else(|| UNDETERMINED.to_owned()),
                language_name: audio.name,
            };
            let is_encoded_only = !rendition.is_copied && rendition.is_encoded;
            track(
                kind,
                reason_of(&source_track.media)
                    .or_else(|| is_encoded_only.then(|| limited_codec_reason(audio_track))),
                rendition.is_encoded,
            )
        },
    );
    let display_size = source.video.as_ref().map(|video| (video.display_width, video.display_height));
    MediaFacts {
        container: Some(source.container.name().to_owned()),
        duration: MediaDuration::from_micros(source.duration_us),
        tracks: video.into_iter().chain(audio).collect(),
        source_resolution: display_size.map(|(width, height)| Resolution::of_size(width, height)),
        aspect_ratio: display_size.and_then(|(width, height)| AspectRatio::of_size(width, height)),
        rungs: rungs(index, max),
        is_truncated: source.is_truncated,
        left_out: source.left_out.into_iter().map(left_out).collect(),
        does_not_decode: false,
        broken_renditions: Vec::new(),
    }
}

fn left_out(track: kinora_index::SkippedTrack) -> LeftOutTrack {
    LeftOutTrack { is_video: track.is_video, detail: track.detail }
}

/// Why audio is encoded that could be copied: only some players support it.
fn limited_codec_reason(audio: &AudioTrack) -> NotCopied {
    let detail = match audio.channels {
        0..=2 => audio.codec.clone(),
        channels => format!(
            "{} of {channels} channels",
            if audio.codec.starts_with("mp4a.") { "AAC" } else { &*audio.codec }
        ),
    };
    NotCopied { reason: NotCopiedReason::Codec, detail }
}

/// Maps the reason in an index to that in the owner's report.
fn not_copied(why: &kinora_index::NotCopied) -> NotCopied {
    use kinora_index::NotCopiedReason as Found;

    let reason = match why.reason {
        Found::Codec => NotCopiedReason::Codec,
        Found::PixelFormat => NotCopiedReason::PixelFormat,
        Found::Interlaced => NotCopiedReason::Interlaced,
        Found::OpenGop => NotCopiedReason::OpenGop,
        Found::LongGop => NotCopiedReason::LongGop,
        Found::Edits => NotCopiedReason::Edits,
        Found::Timing => NotCopiedReason::Timing,
        Found::FormatChanges => NotCopiedReason::FormatChanges,
        Found::TooLarge => NotCopiedReason::TooLarge,
        Found::Watermark => NotCopiedReason::Watermark,
    };
    NotCopied { reason, detail: why.detail.clone() }
}

/// The renditions that manifests list in addition to the copy.
fn rungs(index: &Index, max: Resolution) -> Vec<Resolution> {
    if index.plan.encoded_video.is_empty() {
        return Vec::new();
    }
    let name = |rung: Rung| Resolution::ALL.into_iter().find(|name| name.lines() == rung.name.lines());
    ladder(index, max.lines()).into_iter().filter_map(name).collect()
}
