//! What a client is told of a source, from its index.

use kinora_domain::{
    AspectRatio, FrameRate, MediaDuration, MediaFacts, Random, Resolution, Timestamp, Track, TrackId,
    TrackKind,
};
use kinora_formats::hls::audio_names;
use kinora_formats::index::Index;

/// ISO 639-2 for "not determined"; BCP 47 knows it too.
const UNDETERMINED: &str = "und";
/// What a track is called of which nothing is known.
const UNDETERMINED_NAME: &str = "Undetermined";

/// The facts of a source; tracks get new ids.
pub(super) fn of_index(index: &Index, now: Timestamp, random: &dyn Random) -> MediaFacts {
    let source = index.facts();
    let track = |kind| Track { id: TrackId::new(now, random), kind };
    let video = source.video.as_ref().map(|video| {
        track(TrackKind::Video {
            width: video.display_width,
            height: video.display_height,
            frame_rate: video
                .frame_rate
                .map(|(numerator, denominator)| FrameRate { numerator, denominator: denominator.max(1) }),
        })
    });
    // The names that players show: no two tracks of a media have the same (contract 2.6).
    let audio = audio_names(index, UNDETERMINED_NAME).into_iter().map(|audio| {
        track(TrackKind::Audio {
            language_code: audio.language.unwrap_or_else(|| UNDETERMINED.to_owned()),
            language_name: audio.name,
        })
    });
    let picture = source.video.as_ref().map(|video| (video.display_width, video.display_height));
    MediaFacts {
        duration: MediaDuration::from_micros(source.duration_us),
        tracks: video.into_iter().chain(audio).collect(),
        source_resolution: picture.map(|(width, height)| Resolution::of_picture(width, height)),
        aspect_ratio: picture.and_then(|(width, height)| AspectRatio::of_picture(width, height)),
        is_truncated: source.is_truncated,
        does_not_decode: false,
    }
}
