//! MP4 files of a media, in addition to playback (C-122, C-123, C-135, C-27).

use super::{Media, MediaState, TrackKind};
use crate::{Event, EventKind, Timestamp};

/// The files that a client requests in addition to playback.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mp4Support {
    /// Video and audio, 2160p at most.
    pub capped_4k: bool,
    /// Audio only.
    pub audio_only: bool,
}

/// The reason why a request for files is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Mp4Rejected {
    /// The setting already has this value.
    #[error("mp4Support is already {0}")]
    Unchanged(&'static str),
    /// The media has no audio.
    #[error("the media has no audio")]
    NoAudio,
    /// The media has no video.
    #[error("the media has no video")]
    NoVideo,
}

impl Mp4Support {
    /// All values, as in requests, responses and rows.
    pub const WORDS: [&str; 4] = ["none", "capped_4k", "audioOnly", "audioOnly,capped_4k"];

    /// The value in requests, responses and rows.
    pub fn as_str(self) -> &'static str {
        match (self.capped_4k, self.audio_only) {
            (false, false) => "none",
            (true, false) => "capped_4k",
            (false, true) => "audioOnly",
            (true, true) => "audioOnly,capped_4k",
        }
    }

    /// Parses a value.
    pub fn from_text(text: &str) -> Option<Self> {
        let all = [false, true]
            .into_iter()
            .flat_map(|capped_4k| [false, true].map(|audio_only| Self { capped_4k, audio_only }));
        all.into_iter().find(|support| support.as_str() == text)
    }

    /// Whether no file is requested.
    pub fn is_none(self) -> bool {
        self == Self::default()
    }
}

impl Media {
    /// Changes the requested files, in any state of the media.
    ///
    /// The tracks of a ready media are known, so a file without content is rejected. For any other media it
    /// is skipped later.
    pub fn set_mp4_support(
        mut self,
        requested: Mp4Support,
        now: Timestamp,
    ) -> Result<(Self, Event), Mp4Rejected> {
        if self.settings.mp4_support == requested {
            return Err(Mp4Rejected::Unchanged(requested.as_str()));
        }
        if let MediaState::Ready { facts, .. } = &self.state {
            let has_audio = facts.tracks.iter().any(|track| matches!(track.kind, TrackKind::Audio { .. }));
            if requested.audio_only && !has_audio {
                return Err(Mp4Rejected::NoAudio);
            }
            if requested.capped_4k && facts.is_audio_only() {
                return Err(Mp4Rejected::NoVideo);
            }
        }
        self.settings.mp4_support = requested;
        Ok(self.with_update_event(now))
    }

    /// The event that the requested files are downloadable. The caller has verified that they are.
    pub fn mp4_ready_event(&self, now: Timestamp) -> Event {
        self.event(EventKind::Mp4Ready(Box::new(self.clone())), now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::tests::{facts, finished};
    use crate::{Resolution, Track, TrackId};

    #[test]
    fn values_round_trip_and_other_texts_are_rejected() {
        for word in Mp4Support::WORDS {
            assert_eq!(Mp4Support::from_text(word).unwrap().as_str(), word);
        }
        for other in ["", "None", "capped-4k", "capped_4k,audioOnly", "audioOnly, capped_4k", "audioOnly,"] {
            assert_eq!(Mp4Support::from_text(other), None, "{other}");
        }
        assert!(Mp4Support::from_text("none").unwrap().is_none());
    }

    /// A ready media with a track of each of these kinds.
    fn media(kinds: &[TrackKind]) -> Media {
        let mut facts = facts(Some(Resolution::P480));
        let id: TrackId = "019a492c-41f3-7001-8203-040506070809".parse().unwrap();
        let track = |kind: &TrackKind| Track { id, kind: kind.clone(), not_copied: None, is_encoded: false };
        facts.tracks = kinds.iter().map(track).collect();
        finished(facts)
    }

    #[test]
    fn mp4_support_without_matching_track_is_rejected() {
        let video = TrackKind::Video { width: 854, height: 480, frame_rate: None };
        let audio = TrackKind::Audio { language_code: "und".into(), language_name: "Undetermined".into() };
        let check = |kinds: &[TrackKind], word: &str, refusal: Option<Mp4Rejected>| {
            let media = media(kinds);
            let at = media.updated_at;
            let requested = Mp4Support::from_text(word).unwrap();
            let outcome = media.set_mp4_support(requested, at).map(|(media, event)| {
                assert_eq!(media.settings.mp4_support, requested);
                assert!(matches!(event.kind, EventKind::MediaUpdated(_)));
            });
            assert_eq!(outcome.err(), refusal, "{word}");
        };
        let (both, video_only, audio_only) = ([video.clone(), audio.clone()], [video], [audio]);
        check(&both, "none", Some(Mp4Rejected::Unchanged("none")));
        check(&both, "audioOnly,capped_4k", None);
        check(&video_only, "capped_4k", None);
        check(&video_only, "audioOnly", Some(Mp4Rejected::NoAudio));
        check(&video_only, "audioOnly,capped_4k", Some(Mp4Rejected::NoAudio));
        check(&audio_only, "audioOnly", None);
        check(&audio_only, "capped_4k", Some(Mp4Rejected::NoVideo));
        check(&audio_only, "audioOnly,capped_4k", Some(Mp4Rejected::NoVideo));
    }
}
