//! Whether a source plays as it is.

use kinora_domain::Resolution;
use kinora_formats::index::Index;

/// Whether some variant of a source of which nothing larger than `max` is shown plays as a copy as a whole: its picture and its
/// sound. Then nothing needs to be made before the media is ready.
pub(super) fn plays_as_copy(index: &Index, max: Resolution) -> bool {
    let picture = index.video().map(|(_, video)| {
        let (width, height) = video.display_size();
        video.not_copied.is_none() && Resolution::of_picture(width, height) <= max
    });
    let sound = index.audio().map(|(_, audio)| audio.not_copied.is_none());
    picture.unwrap_or(true) && sound.unwrap_or(true)
}
