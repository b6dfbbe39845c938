//! Tracks that cannot be read. They are left out if another track can be read: one bad track does not fail a
//! source.

use kinora_index::{SKIPPED_TRACKS_MAX, SkippedTrack};

use super::super::error::ReadError;

/// The tracks rejected so far: whether it is video, and why.
#[derive(Debug, Default)]
pub struct RejectedTracks(Vec<(bool, ReadError)>);

impl RejectedTracks {
    /// Adds a track that cannot be read; `is_video` is false for audio.
    pub fn push(&mut self, is_video: bool, error: ReadError) {
        self.0.push((is_video, error));
    }

    /// Reads each of `all`. Returns the results in their order, and records the tracks that cannot be read.
    pub(crate) fn accept_readable<T, R>(
        &mut self,
        is_video: bool,
        all: impl IntoIterator<Item = T>,
        mut read: impl FnMut(T) -> Result<R, ReadError>,
    ) -> Vec<R> {
        let read = |one| read(one).map_err(|error| self.push(is_video, error)).ok();
        all.into_iter().filter_map(read).collect()
    }

    /// The tracks that are left out, at most [`SKIPPED_TRACKS_MAX`]. `has_video` and `has_audio` are true if
    /// a track of that kind is played.
    ///
    /// Errors, video before audio: the first one if no track is played; [`ReadError::NeedsRemux`] if all
    /// tracks of a kind were rejected and ffmpeg may be able to read one of them.
    pub fn left_out(mut self, has_video: bool, has_audio: bool) -> Result<Vec<SkippedTrack>, ReadError> {
        let has = |is_video: bool| if is_video { has_video } else { has_audio };
        self.0.sort_by_key(|(is_video_track, _)| !is_video_track);
        let is_final = |(is_video, error): &(bool, ReadError)| {
            !(has_video || has_audio) || (!has(*is_video) && matches!(error, ReadError::NeedsRemux(_)))
        };
        if let Some(rejection) = self.0.iter().position(is_final) {
            return Err(self.0.swap_remove(rejection).1);
        }
        let rejected = self.0.into_iter().take(SKIPPED_TRACKS_MAX);
        Ok(rejected.map(|(is_video, error)| SkippedTrack::new(is_video, error.to_string())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejected_track_is_skipped_unless_remux_may_read_it() {
        let unsupported = || ReadError::unsupported("the audio codec is G.723.1, which cannot be decoded");
        let remux = || ReadError::needs_remux("the video changes its format");
        let check = |refused: Vec<(bool, ReadError)>, has: (bool, bool)| {
            RejectedTracks(refused).left_out(has.0, has.1)
        };
        let named = SkippedTrack { is_video: false, detail: unsupported().to_string() };
        assert_eq!(check(vec![(false, unsupported())], (true, false)), Ok(vec![named.clone()]));
        assert_eq!(check(vec![(false, unsupported())], (true, true)), Ok(vec![named]));
        assert_eq!(check(vec![(false, unsupported()), (true, remux())], (false, false)), Err(remux()));
        assert_eq!(check(vec![(true, remux())], (false, true)), Err(remux()));
        assert_eq!(check(vec![(true, remux())], (true, true)).map(|left_out| left_out.len()), Ok(1));
        assert_eq!(
            check(vec![(false, unsupported()); 99], (true, false)).map(|all| all.len()),
            Ok(SKIPPED_TRACKS_MAX)
        );
        assert_eq!(check(Vec::new(), (false, false)), Ok(Vec::new()));
    }
}
