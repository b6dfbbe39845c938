//! HLS playlists as text (RFC 8216), from the index and its plan, and subtitles.
//!
//! Knows no routes: addresses come in as arguments. Does no I/O.
//!
//! Begin with [`MultivariantPlaylist::offered`] and [`MediaPlaylist`]; [`subtitles`] reads SRT and WebVTT,
//! and writes WebVTT.

mod audio_names;
mod language;
mod media;
mod multivariant;
mod rate;
mod rung_rate;
mod sequence;
mod sounds;
pub mod subtitles;

pub use audio_names::{AudioName, audio_names};
pub use language::{Language, language};
pub use media::{Break, FileEncryption, MediaPlaylist};
pub use multivariant::{
    AddedSound, Address, AudioGroup, Choice, IFrameVariant, MultivariantPlaylist, MultivariantUris, Offer,
    Order, SubtitleOffer, SubtitleRendition, Variant, VideoRange,
};
pub use rate::{CopyRates, Rate};
pub use rung_rate::{RatedRung, rate_of_rung};
pub use sequence::SequencePlaylist;
pub use sounds::{SoundOffer, sound_offers};

/// The lowest protocol version that has all we use: EXT-X-MAP without I-FRAMES-ONLY. RFC 8216, 7.
pub(crate) const VERSION: u32 = 6;
