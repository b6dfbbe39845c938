//! Edit lists: where a track's media lies on the timeline of the movie. ISO/IEC 14496-12, 8.6.6.

use serde::{Deserialize, Serialize};

use super::super::{
    boxes::{BoxRef, Fields},
    error::ReadError,
};

/// `media_rate` of normal speed, 16.16.
const RATE_NORMAL: u32 = 0x0001_0000;
/// `media_rate` of an edit that holds one moment.
const RATE_HELD: u32 = 0;
/// Longest wait in front of a track. Beside a recording of 12 h, a track that begins later than that is
/// damage.
const EMPTY_EDIT_S_MAX: u64 = 12 * 3600;
/// Edits in one list. Writers of whole cutting lists stay far below.
const EDITS_MAX: u32 = 100_000;

/// Where one stretch of media lies: what an ordinary edit list says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Edit {
    /// Ticks of the movie before the track begins.
    pub(crate) empty: u64,
    /// Where the presented media begins, in ticks of the track.
    pub(crate) media_time: i64,
    /// How long it is presented, in ticks of the movie; `None` to its end.
    pub(crate) duration: Option<u64>,
}

/// The edit list of a track: a wait, then pieces of its media.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct EditList {
    /// Ticks of the movie before the track begins.
    pub empty: u64,
    /// What is presented, in order. None means: the media as it is.
    pub pieces: Vec<Piece>,
}

/// A stretch of media at normal speed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// When it begins: ticks of the movie since the first piece did.
    pub at: u64,
    /// Where it begins in the media, in ticks of the track; not negative.
    pub media_time: i64,
    /// How long it is presented, in ticks of the movie. 0, which only the last piece has, means to the end of
    /// the media.
    pub duration: u64,
}

impl EditList {
    /// Bytes in memory.
    pub(crate) fn memory_len(&self) -> usize {
        self.pieces.capacity() * size_of::<Piece>()
    }

    /// Reads the edit list of a track. Without one, or with an empty one, the media is presented as it is.
    ///
    /// Edits without a length present nothing and are left out, as are empty ones behind the last piece.
    /// Errors: `NeedsRemux` for other speeds than the normal one.
    pub(crate) fn parse(trak: &BoxRef<'_>, movie_timescale: u32) -> Result<Self, ReadError> {
        let Some(elst) = trak.descend(&[b"edts", b"elst"]) else { return Ok(EditList::default()) };
        let damaged = || ReadError::damaged("its edit list has fewer entries than it says");
        let mut fields = Fields::new(elst.body);
        let (version, _) = fields.version_and_flags().ok_or_else(damaged)?;
        let count = fields.u32().ok_or_else(damaged)?;
        if count > EDITS_MAX {
            return Err(damaged());
        }

        let mut list = EditList::default();
        let mut at = 0u64;
        for number in 0..count {
            let (duration, media_time, rate) = entry(&mut fields, version).ok_or_else(damaged)?;
            if media_time == -1 {
                // In front of the media it is a wait. Behind it, it shows nothing, and only moves what
                // follows.
                let wait = if list.pieces.is_empty() { &mut list.empty } else { &mut at };
                *wait = wait.checked_add(duration).ok_or_else(out_of_range)?;
                continue;
            }
            check_speed(rate)?;
            if media_time < 0 {
                return Err(ReadError::damaged(format!("an edit begins at {media_time}")));
            }
            let is_alone = list.pieces.is_empty() && number + 1 == count;
            if duration > 0 || is_alone {
                list.pieces.push(Piece { at, media_time, duration });
            }
            at = at.checked_add(duration).ok_or_else(out_of_range)?;
        }
        if list.empty / u64::from(movie_timescale) > EMPTY_EDIT_S_MAX {
            return Err(ReadError::damaged("a track begins more than 12 hours late"));
        }
        Ok(list)
    }

    /// Whether what came back from a checkpoint is such a list.
    pub(crate) fn is_sound(&self) -> bool {
        let ends = |piece: &Piece| piece.at.checked_add(piece.duration);
        self.pieces.len() <= EDITS_MAX as usize
            && self.pieces.iter().all(|piece| 0 <= piece.media_time && ends(piece).is_some())
            && self.pieces.is_sorted_by(|a, b| ends(a).is_some_and(|end| end <= b.at))
    }

    /// Where the presented media begins, in ticks of the track.
    pub(crate) fn media_time(&self) -> i64 {
        self.pieces.first().map_or(0, |piece| piece.media_time)
    }

    /// Lets the last piece go on to the end of the media, whatever the list says.
    pub(crate) fn go_to_the_end(&mut self) {
        if let Some(last) = self.pieces.last_mut() {
            last.duration = 0;
        }
    }
}

fn out_of_range() -> ReadError {
    ReadError::damaged("its edit list leaves the range of times")
}

fn check_speed(rate: u32) -> Result<(), ReadError> {
    match rate {
        RATE_NORMAL => Ok(()),
        RATE_HELD => Err(ReadError::needs_remux(
            "the edit list of a track holds a moment still; only normal speed is supported",
        )),
        _ => Err(ReadError::needs_remux(
            "the edit list of a track changes its speed; only normal speed is supported",
        )),
    }
}

/// Duration, media time and rate of the next entry.
fn entry(fields: &mut Fields<'_>, version: u8) -> Option<(u64, i64, u32)> {
    if version == 1 {
        Some((fields.u64()?, fields.i64()?, fields.u32()?))
    } else {
        Some((fields.u32()?.into(), fields.i32()?.into(), fields.u32()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        boxes::FourCc,
        read::testing::{full_box, plain_box, words},
    };

    const EMPTY: u32 = u32::MAX;

    fn parse(elst: Vec<u8>) -> Result<EditList, String> {
        let trak = plain_box(b"edts", &elst);
        let trak = BoxRef { kind: FourCc(*b"trak"), body: &trak };
        EditList::parse(&trak, 1000).map_err(|error| error.to_string())
    }

    fn list(empty: u64, pieces: &[(u64, i64, u64)]) -> EditList {
        let piece = |&(at, media_time, duration): &(u64, i64, u64)| Piece { at, media_time, duration };
        EditList { empty, pieces: pieces.iter().map(piece).collect() }
    }

    #[test]
    fn lists_are_a_wait_and_pieces() {
        fn check(name: &str, entries: &[u32], expected: EditList) {
            let words_of_list = [&[entries.len() as u32 / 3][..], entries].concat();
            assert_eq!(parse(full_box(b"elst", 0, &words(&words_of_list))), Ok(expected), "{name}");
        }
        check("empty", &[], EditList::default());
        check("skip", &[5000, 1024, RATE_NORMAL], list(0, &[(0, 1024, 5000)]));
        check("to the end", &[0, 1024, RATE_NORMAL], list(0, &[(0, 1024, 0)]));
        check(
            "waits, then media, then nothing",
            &[70, EMPTY, RATE_NORMAL, 30, EMPTY, 0, 5000, 0, RATE_NORMAL, 9, EMPTY, RATE_NORMAL],
            list(100, &[(0, 0, 5000)]),
        );
        check(
            "two pieces and a pause between them",
            &[5000, 0, RATE_NORMAL, 9, EMPTY, RATE_NORMAL, 20, 300, RATE_NORMAL],
            list(0, &[(0, 0, 5000), (5009, 300, 20)]),
        );
        check(
            "edits without a length among others",
            &[0, 7, RATE_NORMAL, 5000, 0, RATE_NORMAL, 0, 8, RATE_NORMAL],
            list(0, &[(0, 0, 5000)]),
        );
    }

    #[test]
    fn wide_lists_are_read() {
        let entries = words(&[1, 0, 5000, 0, 1024, RATE_NORMAL]);
        assert_eq!(parse(full_box(b"elst", 1, &entries)), Ok(list(0, &[(0, 1024, 5000)])));
        let far = words(&[2, u32::MAX, u32::MAX, 0, 0, RATE_NORMAL, 0, 1, 0, 0, RATE_NORMAL]);
        assert_eq!(
            parse(full_box(b"elst", 1, &far)),
            Err("the file is damaged: its edit list leaves the range of times".into())
        );
    }

    #[test]
    fn other_lists_are_refused() {
        fn check(entries: &[u32], expected: &str) {
            assert_eq!(parse(full_box(b"elst", 0, &words(entries))), Err(expected.into()));
        }
        check(
            &[1, 10, 0, 0],
            "the edit list of a track holds a moment still; only normal speed is supported",
        );
        for rate in [0x0000_8000, 0x0002_0000, 0xffff_0000] {
            check(
                &[1, 10, 0, rate],
                "the edit list of a track changes its speed; only normal speed is supported",
            );
        }
        check(&[1, 10, -2i32 as u32, RATE_NORMAL], "the file is damaged: an edit begins at -2");
        check(&[2, 10, 0, RATE_NORMAL], "the file is damaged: its edit list has fewer entries than it says");
        check(&[u32::MAX], "the file is damaged: its edit list has fewer entries than it says");
        check(
            &[1, u32::MAX, EMPTY, RATE_NORMAL],
            "the file is damaged: a track begins more than 12 hours late",
        );
    }
}
