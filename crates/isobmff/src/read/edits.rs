//! Edit lists: map the media of a track to the timeline of the movie. ISO/IEC 14496-12, 8.6.6.

use serde::{Deserialize, Serialize};

use super::super::{
    boxes::{BoxRef, FieldReader},
    error::ReadError,
};

/// `media_rate` of normal speed, 16.16.
const RATE_NORMAL: u32 = 0x0001_0000;
/// `media_rate` of a dwell edit, which repeats one frame.
const RATE_PAUSED: u32 = 0;
/// Longest empty edit at the start of a track. In a recording of 12 h, a longer one is damage.
const EMPTY_EDIT_S_MAX: u64 = 12 * 3600;
/// Maximum number of edits in one list. Editing programs write far fewer.
const EDITS_MAX: u32 = 100_000;

/// The position of one continuous range of media, as an ordinary edit list gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Edit {
    /// Ticks of the movie before the track begins.
    pub(crate) empty_duration: u64,
    /// Start of the presented media, in ticks of the track.
    pub(crate) media_time: i64,
    /// Presented duration, in ticks of the movie; `None` means to the end of the media.
    pub(crate) duration: Option<u64>,
}

/// The edit list of a track: an initial empty edit, then pieces of its media.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct EditList {
    /// Ticks of the movie before the track begins.
    pub empty_duration: u64,
    /// The presented pieces, in order. If it is empty, the media is presented unchanged.
    pub entries: Vec<EditEntry>,
}

/// A continuous range of media at normal speed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct EditEntry {
    /// Start of presentation after that of the first piece, in ticks of the movie.
    pub movie_time: u64,
    /// Start in the media, in ticks of the track; not negative.
    pub media_time: i64,
    /// Presented duration, in ticks of the movie. 0, which only the last piece has, means to the end of the
    /// media.
    pub duration: u64,
}

impl EditList {
    /// Bytes in memory.
    pub(crate) fn memory_len(&self) -> usize {
        self.entries.capacity() * size_of::<EditEntry>()
    }

    /// Reads the edit list of a track. Without one, or with an empty one, the media is presented unchanged.
    ///
    /// Edits without a duration present nothing and are left out, as are empty edits after the last piece.
    /// Errors: `NeedsRemux` for other speeds than the normal one.
    pub(crate) fn parse(trak: &BoxRef<'_>, movie_timescale: u32) -> Result<Self, ReadError> {
        let Some(elst) = trak.descend(&[b"edts", b"elst"]) else { return Ok(EditList::default()) };
        let damaged = || ReadError::damaged("its edit list has fewer entries than it says");
        let mut fields = FieldReader::new(elst.body);
        let (version, _) = fields.version_and_flags().ok_or_else(damaged)?;
        let count = fields.u32().ok_or_else(damaged)?;
        if count > EDITS_MAX {
            return Err(damaged());
        }

        let mut list = EditList::default();
        let mut movie_time = 0u64;
        for number in 0..count {
            let (duration, media_time, rate) = parse_entry(&mut fields, version).ok_or_else(damaged)?;
            if media_time == -1 {
                // Before the media, an empty edit delays the track. After it, an empty edit presents nothing
                // and only delays the next pieces.
                let delay = if list.entries.is_empty() { &mut list.empty_duration } else { &mut movie_time };
                *delay = delay.checked_add(duration).ok_or_else(out_of_range)?;
                continue;
            }
            check_speed(rate)?;
            if media_time < 0 {
                return Err(ReadError::damaged(format!("an edit begins at {media_time}")));
            }
            let is_alone = list.entries.is_empty() && number + 1 == count;
            if duration > 0 || is_alone {
                list.entries.push(EditEntry { movie_time, media_time, duration });
            }
            movie_time = movie_time.checked_add(duration).ok_or_else(out_of_range)?;
        }
        if list.empty_duration / u64::from(movie_timescale) > EMPTY_EDIT_S_MAX {
            return Err(ReadError::damaged("a track begins more than 12 hours late"));
        }
        Ok(list)
    }

    /// Whether a state that was read from a checkpoint is valid.
    pub(crate) fn is_valid(&self) -> bool {
        let ends = |entry: &EditEntry| entry.movie_time.checked_add(entry.duration);
        self.entries.len() <= EDITS_MAX as usize
            && self.entries.iter().all(|piece| 0 <= piece.media_time && ends(piece).is_some())
            && self.entries.is_sorted_by(|a, b| ends(a).is_some_and(|end| end <= b.movie_time))
    }

    /// Start of the presented media, in ticks of the track.
    pub(crate) fn media_time(&self) -> i64 {
        self.entries.first().map_or(0, |entry| entry.media_time)
    }

    /// Extends the last piece to the end of the media and ignores its duration.
    pub(crate) fn extend_to_end(&mut self) {
        if let Some(last) = self.entries.last_mut() {
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
        RATE_PAUSED => Err(ReadError::needs_remux(
            "the edit list of a track freezes a frame; only normal speed is supported",
        )),
        _ => Err(ReadError::needs_remux(
            "the edit list of a track changes its speed; only normal speed is supported",
        )),
    }
}

/// Duration, media time and rate of the next entry.
fn parse_entry(fields: &mut FieldReader<'_>, version: u8) -> Option<(u64, i64, u32)> {
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

    fn list(empty: u64, entries: &[(u64, i64, u64)]) -> EditList {
        let entry = |&(at, media_time, duration): &(u64, i64, u64)| EditEntry {
            movie_time: at,
            media_time,
            duration,
        };
        EditList { empty_duration: empty, entries: entries.iter().map(entry).collect() }
    }

    #[test]
    fn edit_list_is_empty_edit_and_entries() {
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
    fn version_1_edit_list_is_read() {
        let entries = words(&[1, 0, 5000, 0, 1024, RATE_NORMAL]);
        assert_eq!(parse(full_box(b"elst", 1, &entries)), Ok(list(0, &[(0, 1024, 5000)])));
        let far = words(&[2, u32::MAX, u32::MAX, 0, 0, RATE_NORMAL, 0, 1, 0, 0, RATE_NORMAL]);
        assert_eq!(
            parse(full_box(b"elst", 1, &far)),
            Err("the file is damaged: its edit list leaves the range of times".into())
        );
    }

    #[test]
    fn unsupported_edit_lists_are_rejected() {
        fn check(entries: &[u32], expected: &str) {
            assert_eq!(parse(full_box(b"elst", 0, &words(entries))), Err(expected.into()));
        }
        check(&[1, 10, 0, 0], "the edit list of a track freezes a frame; only normal speed is supported");
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
