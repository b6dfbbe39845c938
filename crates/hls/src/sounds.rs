//! How each audio track of a source is offered: as it is, encoded, or both.

use kinora_index::{AudioTrack, Index, Track, VideoTrack};

use crate::rate::is_aac;

/// Channels that every player has a place for.
const CHANNELS_EVERYWHERE_MAX: u32 = 2;

/// What players are offered of an audio track.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SoundOffer {
    /// The bytes of the source. Where it is encoded, too, they stand beside the copied video alone, for
    /// players that know more.
    pub is_copied: bool,
    /// An encoded rendition: the one that plays everywhere.
    pub is_encoded: bool,
}

/// What is offered of each audio track, in the order of the source, where somebody encodes. `copies_video`:
/// the video is offered as it is.
///
/// What plays everywhere is copied: AAC of one or two channels, and of more where a track of the same
/// language has no more than two. M-37, D-0052.
pub fn sound_offers(index: &Index, copies_video: bool) -> Vec<SoundOffer> {
    let tracks = index.audio_tracks().enumerate();
    let offer = |(number, (track, audio)): (usize, (&Track, &AudioTrack))| {
        // Nothing is cut of a track that is too long to be encoded.
        let can_be_encoded = index.plan.encoded_audio.get(number).is_some_and(|cuts| 1 < cuts.len());
        let is_encoded = can_be_encoded && !plays_everywhere(index, track, audio);
        let is_copied = audio.not_copied.is_none()
            && (!is_encoded || (copies_video && plays_beside_the_copy(index, track, audio)));
        SoundOffer { is_copied, is_encoded }
    };
    tracks.map(offer).collect()
}

/// Whether a copy is all that players need.
pub(crate) fn plays_everywhere(index: &Index, track: &Track, audio: &AudioTrack) -> bool {
    let is_small = |audio: &AudioTrack| audio.channels <= CHANNELS_EVERYWHERE_MAX;
    let is_partner = |(other, small): (&Track, &AudioTrack)| {
        other.source_track != track.source_track && other.language == track.language && is_small(small)
    };
    audio.not_copied.is_none() && is_aac(audio) && (is_small(audio) || index.audio_tracks().any(is_partner))
}

/// Whether the players of the copied video play the copy of this track: beside HEVC and AV1, which none knows
/// who does not know Opus, that, too.
///
/// Not AAC of many channels: a variant that differs in nothing else would be taken for a better one by
/// players with a good line.
pub(crate) fn plays_beside_the_copy(index: &Index, track: &Track, audio: &AudioTrack) -> bool {
    let is_newer =
        |(_, video): (&Track, &VideoTrack)| video.not_copied.is_none() && !video.codec.starts_with("avc1.");
    plays_everywhere(index, track, audio)
        || (audio.not_copied.is_none() && !is_aac(audio) && index.video().is_some_and(is_newer))
}
