//! Tracks that cannot be read. They are left out if another track can be read: one bad track does not fail a
//! source.

use kinora_index::{LEFT_OUT_MAX, LeftOut};

use super::super::error::ReadError;

/// The tracks that were refused so far: whether it has pictures, and why.
#[derive(Debug, Default)]
pub struct Refusals(Vec<(bool, ReadError)>);

impl Refusals {
    /// Adds a track that cannot be read; `is_picture` is false for sound.
    pub fn note(&mut self, is_picture: bool, error: ReadError) {
        self.0.push((is_picture, error));
    }

    /// Reads each of `all`. Returns the results in their order, and notes what cannot be read.
    pub(crate) fn those_that_can<T, R>(
        &mut self,
        is_picture: bool,
        all: impl IntoIterator<Item = T>,
        mut read: impl FnMut(T) -> Result<R, ReadError>,
    ) -> Vec<R> {
        let read = |one| read(one).map_err(|error| self.note(is_picture, error)).ok();
        all.into_iter().filter_map(read).collect()
    }

    /// The tracks that are left out, at most [`LEFT_OUT_MAX`]. `has_video` and `has_audio` say what is played
    /// of the source.
    ///
    /// Errors, pictures before sound: the first refusal if nothing is played; [`ReadError::NeedsRemux`] if
    /// all tracks of a kind were refused and ffmpeg may be able to read one of them.
    pub fn left_out(mut self, has_video: bool, has_audio: bool) -> Result<Vec<LeftOut>, ReadError> {
        let has = |is_picture: bool| if is_picture { has_video } else { has_audio };
        self.0.sort_by_key(|(is_picture, _)| !is_picture);
        let is_final = |(is_picture, error): &(bool, ReadError)| {
            !(has_video || has_audio) || (!has(*is_picture) && matches!(error, ReadError::NeedsRemux(_)))
        };
        if let Some(refusal) = self.0.iter().position(is_final) {
            return Err(self.0.swap_remove(refusal).1);
        }
        let named = self.0.into_iter().take(LEFT_OUT_MAX);
        Ok(named.map(|(is_picture, error)| LeftOut::new(is_picture, error.to_string())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_track_is_left_out_where_another_kind_is_played_unless_an_engine_may_read_it() {
        let unsupported = || ReadError::unsupported("the audio codec is G.723.1, which cannot be decoded");
        let remux = || ReadError::needs_remux("the video changes its format");
        let check =
            |refused: Vec<(bool, ReadError)>, has: (bool, bool)| Refusals(refused).left_out(has.0, has.1);
        let named = LeftOut { is_picture: false, detail: unsupported().to_string() };
        assert_eq!(check(vec![(false, unsupported())], (true, false)), Ok(vec![named.clone()]));
        assert_eq!(check(vec![(false, unsupported())], (true, true)), Ok(vec![named]));
        assert_eq!(check(vec![(false, unsupported()), (true, remux())], (false, false)), Err(remux()));
        assert_eq!(check(vec![(true, remux())], (false, true)), Err(remux()));
        assert_eq!(check(vec![(true, remux())], (true, true)).map(|left_out| left_out.len()), Ok(1));
        assert_eq!(
            check(vec![(false, unsupported()); 99], (true, false)).map(|all| all.len()),
            Ok(LEFT_OUT_MAX)
        );
        assert_eq!(check(Vec::new(), (false, false)), Ok(Vec::new()));
    }
}
