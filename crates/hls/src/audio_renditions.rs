//! Whether each audio track of a source is offered as a copy, encoded, or both.

use kinora_index::{AudioTrack, Index, Track, VideoTrack};

use crate::rate::is_aac;

/// Channels that every player supports.
const CHANNELS_EVERYWHERE_MAX: u32 = 2;

/// The renditions of an audio track that players are offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AudioRenditions {
    /// A copy. If the track is encoded too, the copy goes only with the copied video, for players that
    /// support more.
    pub is_copied: bool,
    /// An encoded rendition: the one that plays everywhere.
    pub is_encoded: bool,
}

/// The renditions of each audio track, in the order of the source, if audio can be encoded. `copies_video`:
/// the video is offered as a copy.
///
/// A track that plays everywhere is copied: AAC of one or two channels, and of more if a track of the same
/// language has no more than two. M-37, D-0052.
pub fn audio_renditions(index: &Index, copies_video: bool) -> Vec<AudioRenditions> {
    let tracks = index.audio_tracks().enumerate();
    let renditions = |(number, (track, audio)): (usize, (&Track, &AudioTrack))| {
        // A track that is too long to be encoded has no segments.
        let can_be_encoded = index.plan.encoded_audio.get(number).is_some_and(|cuts| 1 < cuts.len());
        let is_encoded = can_be_encoded && !plays_everywhere(index, track, audio);
        let is_copied = audio.not_copied.is_none()
            && (!is_encoded || (copies_video && plays_with_copied_video(index, track, audio)));
        AudioRenditions { is_copied, is_encoded }
    };
    tracks.map(renditions).collect()
}

/// Whether a copy is enough for all players.
pub(crate) fn plays_everywhere(index: &Index, track: &Track, audio: &AudioTrack) -> bool {
    let is_small = |audio: &AudioTrack| audio.channels <= CHANNELS_EVERYWHERE_MAX;
    let is_partner = |(other, small): (&Track, &AudioTrack)| {
        other.source_track != track.source_track && other.language == track.language && is_small(small)
    };
    audio.not_copied.is_none() && is_aac(audio) && (is_small(audio) || index.audio_tracks().any(is_partner))
}

/// Whether the players of the copied video support the copy of this track: all players of HEVC and AV1
/// support Opus too.
///
/// AAC of many channels is excluded: players with a high bandwidth would prefer a variant that differs in
/// nothing else.
pub(crate) fn plays_with_copied_video(index: &Index, track: &Track, audio: &AudioTrack) -> bool {
    let is_newer =
        |(_, video): (&Track, &VideoTrack)| video.not_copied.is_none() && !video.codec.starts_with("avc1.");
    plays_everywhere(index, track, audio)
        || (audio.not_copied.is_none() && !is_aac(audio) && index.video().is_some_and(is_newer))
}
