//! Whether two video tracks may follow one another in one copied rendition.

use crate::codec::{colour::Colour, h264::AvcConfig};
use crate::index::VideoTrack;

/// Why a copy of `video` may not follow one of `base`; `None` if it may (M-45).
///
/// Players change the decoder configuration at a discontinuity, but neither the codec family, the size of
/// the image nor its colours.
pub(super) fn copy_difference(base: &VideoTrack, video: &VideoTrack) -> Option<String> {
    let size = |video: &VideoTrack| {
        let (width, height) = video.display_size();
        format!("{width}x{height}")
    };
    let family = |video: &VideoTrack| video.codec.split('.').next().unwrap_or_default().to_owned();
    let differs = |what: &str, one: String, other: String| {
        (one != other).then(|| format!("its {what} is {other}, that of the base {one}"))
    };
    differs("size", size(base), size(video))
        .or_else(|| differs("codec", family(base), family(video)))
        .or_else(|| {
            let shape = |video: &VideoTrack| {
                let (horizontal, vertical) = video.pixel_aspect;
                format!("{horizontal}:{vertical}, turned by {}", video.rotation)
            };
            differs("pixel shape", shape(base), shape(video))
        })
        .or_else(|| {
            let is_same = base.transfer == video.transfer && colour(base) == colour(video);
            (!is_same).then(|| "its colours are not those of the base".to_owned())
        })
}

/// The colour description of an H.264 track. Other codecs state at least the transfer in the track.
fn colour(video: &VideoTrack) -> Option<Colour> {
    let entry = video.sample_entry.iso()?;
    let name = entry.windows(4).position(|name| name == b"avcC")?;
    let config = AvcConfig::parse(entry.get(name + 4..)?)?;
    config.parameter_sets.first()?.colour
}
