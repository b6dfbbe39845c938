//! What of a source does not play as a copy.

use kinora_domain::Resolution;
use kinora_hls::sound_offers;
use kinora_index::{Index, NotCopied};

/// What of a source does not play as a copy, and so is made before its media is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Missing {
    /// The picture.
    pub picture: bool,
    /// The sound that plays when nobody chose.
    pub sound: bool,
    /// Some sound has an encoded rendition, which is made beside the listeners.
    pub encodes_sound: bool,
}

impl Missing {
    /// Of a source of which nothing larger than `max` is shown.
    pub fn of(index: &Index, max: Resolution) -> Self {
        let is_copied = |why: &Option<NotCopied>| why.is_none();
        let picture = index.video().is_some_and(|(_, video)| {
            let (width, height) = video.display_size();
            !is_copied(&video.not_copied) || Resolution::of_picture(width, height) > max
        });
        let offers = sound_offers(index, !picture);
        let sound = index.audio_number().is_some_and(|number| !offers[usize::from(number)].is_copied);
        Self { picture, sound, encodes_sound: offers.iter().any(|sound| sound.is_encoded) }
    }

    /// The copy plays as a whole, so the media is ready as it is.
    pub fn is_nothing(self) -> bool {
        !self.picture && !self.sound
    }
}
