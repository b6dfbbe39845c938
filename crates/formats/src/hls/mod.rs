//! HLS playlists as text (RFC 8216), from the index and its plan.
//!
//! Knows no routes: addresses come in as arguments. Begin with [`MultivariantPlaylist::offered`] and [`MediaPlaylist`].

mod audio_groups;
mod audio_names;
mod language;
mod media;
mod multivariant;
mod offer;
mod rate;
mod sequence;
mod sounds;
mod subtitles;

pub use audio_groups::AudioGroup;
pub use audio_names::{AudioName, audio_names};
pub use language::{Language, language};
pub use media::{Break, FileEncryption, MediaPlaylist};
pub use multivariant::{IFrameVariant, MultivariantPlaylist, MultivariantUris, Variant, VideoRange};
pub use offer::{AddedSound, Address, Choice, Offer, Order};
pub use rate::{CopyRates, Rate};
pub use sequence::SequencePlaylist;
pub use sounds::{SoundOffer, sound_offers};
pub use subtitles::{SubtitleOffer, SubtitleRendition};

/// The lowest protocol version that has all we use: EXT-X-MAP without I-FRAMES-ONLY. RFC 8216, 7.
pub(crate) const VERSION: u32 = 6;
