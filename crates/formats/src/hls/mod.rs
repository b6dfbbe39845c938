//! HLS playlists as text (RFC 8216), from the index and its plan.
//!
//! Knows no routes: addresses come in as arguments. Begin with [`MultivariantPlaylist::of`] and [`MediaPlaylist`].

mod audio_names;
mod language;
mod media;
mod multivariant;
mod rate;

pub use audio_names::{AudioName, audio_names};
pub use language::{Language, language};
pub use media::MediaPlaylist;
pub use multivariant::{AudioGroup, MultivariantPlaylist, MultivariantUris, Variant, VideoRange};
pub use rate::{CopyRates, Rate};

/// The lowest protocol version that has all we use: EXT-X-MAP without I-FRAMES-ONLY. RFC 8216, 7.
const VERSION: u32 = 6;
