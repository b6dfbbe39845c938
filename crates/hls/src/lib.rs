//! HLS playlists as text (RFC 8216), from the index and its plan, and subtitles.
//!
//! The crate has no routes: addresses are arguments. It does no I/O.
//!
//! Start reading at [`MultivariantPlaylist::build`] and [`MediaPlaylist`]; [`subtitles`] parses SRT and
//! WebVTT, and writes WebVTT.

mod audio_names;
mod audio_renditions;
mod concat_playlist;
mod language_names;
mod media;
mod multivariant;
mod rate;
mod rung_bandwidth;
pub mod subtitles;

pub use audio_names::{AudioName, audio_names};
pub use audio_renditions::{AudioRenditions, audio_renditions};
pub use concat_playlist::ConcatPlaylist;
pub use language_names::{Language, language};
pub use media::{Discontinuity, FileEncryption, MediaPlaylist};
pub use multivariant::{
    AddedAudio, AudioRendition, IFrameVariant, MediaPlaylistRef, MultivariantPlaylist, MultivariantUris,
    SizeOrder, SubtitleRendition, SubtitleTrack, Variant, VariantFilter, VariantInput, VideoRange,
};
pub use rate::{Bandwidth, CopyBandwidths};
pub use rung_bandwidth::{RungBandwidth, bandwidth_of_rung};

/// The lowest protocol version with all features in use: EXT-X-MAP without I-FRAMES-ONLY. RFC 8216, 7.
pub(crate) const VERSION: u32 = 6;
