//! Files of a media beside playback (C-122, C-123, C-135, C-27).

use super::{Media, MediaState, TrackKind};
use crate::{Event, EventKind, Timestamp};

/// Which files a client wants beside playback.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mp4Support {
    /// Pictures and sound, of 2160p at most.
    pub capped_4k: bool,
    /// The sound alone.
    pub audio_only: bool,
}

/// Why files cannot be wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Mp4Refusal {
    /// They are what is wanted already.
    #[error("mp4Support is {0} already")]
    Unchanged(&'static str),
    /// There is no sound to make a file of.
    #[error("the media has no sound")]
    NoSound,
    /// There are no pictures to make a file of.
    #[error("the media has no picture")]
    NoPicture,
}

impl Mp4Support {
    /// Every word, as clients and rows see it.
    pub const WORDS: [&str; 4] = ["none", "capped_4k", "audioOnly", "audioOnly,capped_4k"];

    /// The word.
    pub fn as_str(self) -> &'static str {
        match (self.capped_4k, self.audio_only) {
            (false, false) => "none",
            (true, false) => "capped_4k",
            (false, true) => "audioOnly",
            (true, true) => "audioOnly,capped_4k",
        }
    }

    /// What a word means.
    pub fn from_text(text: &str) -> Option<Self> {
        let all = [false, true]
            .into_iter()
            .flat_map(|capped_4k| [false, true].map(|audio_only| Self { capped_4k, audio_only }));
        all.into_iter().find(|support| support.as_str() == text)
    }

    /// Whether no file is wanted.
    pub fn is_none(self) -> bool {
        self == Self::default()
    }
}

impl Media {
    /// Wants other files beside playback, in whatever state the media is.
    ///
    /// Of a media that is ready it is known what there is to make them of; of any other it shows then, and a
    /// file of which there is nothing is left out.
    pub fn want_files(mut self, wanted: Mp4Support, now: Timestamp) -> Result<(Self, Event), Mp4Refusal> {
        if self.settings.mp4_support == wanted {
            return Err(Mp4Refusal::Unchanged(wanted.as_str()));
        }
        if let MediaState::Ready { facts, .. } = &self.state {
            let has_sound = facts.tracks.iter().any(|track| matches!(track.kind, TrackKind::Audio { .. }));
            if wanted.audio_only && !has_sound {
                return Err(Mp4Refusal::NoSound);
            }
            if wanted.capped_4k && facts.is_audio_only() {
                return Err(Mp4Refusal::NoPicture);
            }
        }
        self.settings.mp4_support = wanted;
        Ok(self.changed(now))
    }

    /// Says that the files that are wanted can be fetched. The caller has made sure of it.
    pub fn files_ready(&self, now: Timestamp) -> Event {
        self.event(EventKind::Mp4Ready(Box::new(self.clone())), now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::tests::{facts, finished};
    use crate::{Resolution, Track, TrackId};

    #[test]
    fn every_word_means_something_else() {
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
    fn a_file_of_which_there_is_nothing_is_not_wanted() {
        let picture = TrackKind::Video { width: 854, height: 480, frame_rate: None };
        let sound = TrackKind::Audio { language_code: "und".into(), language_name: "Undetermined".into() };
        let check = |kinds: &[TrackKind], word: &str, refusal: Option<Mp4Refusal>| {
            let media = media(kinds);
            let at = media.updated_at;
            let wanted = Mp4Support::from_text(word).unwrap();
            let outcome = media.want_files(wanted, at).map(|(media, event)| {
                assert_eq!(media.settings.mp4_support, wanted);
                assert!(matches!(event.kind, EventKind::MediaUpdated(_)));
            });
            assert_eq!(outcome.err(), refusal, "{word}");
        };
        let (both, mute, deaf) = ([picture.clone(), sound.clone()], [picture], [sound]);
        check(&both, "none", Some(Mp4Refusal::Unchanged("none")));
        check(&both, "audioOnly,capped_4k", None);
        check(&mute, "capped_4k", None);
        check(&mute, "audioOnly", Some(Mp4Refusal::NoSound));
        check(&mute, "audioOnly,capped_4k", Some(Mp4Refusal::NoSound));
        check(&deaf, "audioOnly", None);
        check(&deaf, "capped_4k", Some(Mp4Refusal::NoPicture));
        check(&deaf, "audioOnly,capped_4k", Some(Mp4Refusal::NoPicture));
    }
}
