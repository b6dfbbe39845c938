//! Edit lists: where a track's media lies on the timeline of the movie. ISO/IEC 14496-12, 8.6.6.

use super::super::{
    boxes::{BoxRef, Fields},
    error::ReadError,
};

/// `media_rate` of normal speed, 16.16.
const RATE_NORMAL: u32 = 0x0001_0000;
/// Longest wait in front of a track. Beside a recording of 12 h, a track that begins later than that is damage.
const EMPTY_EDIT_S_MAX: u64 = 12 * 3600;
/// Edits in one list. Ours has a wait, one piece of media and what follows it; writers of whole cutting lists stay far below.
const EDITS_MAX: u32 = 100_000;

/// What an edit list of a copyable track can say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Edit {
    /// Ticks of the movie before the track begins.
    pub(crate) empty: u64,
    /// Where the presented media begins, in ticks of the track.
    pub(crate) media_time: i64,
    /// How long it is presented, in ticks of the movie; `None` to its end.
    pub(crate) duration: Option<u64>,
}

impl Edit {
    /// Reads the edit list of a track. Without one, or with an empty one, the media is presented as it is.
    pub(crate) fn parse(trak: &BoxRef<'_>, movie_timescale: u32) -> Result<Self, ReadError> {
        let Some(elst) = trak.descend(&[b"edts", b"elst"]) else { return Ok(Edit::default()) };
        let damaged = || ReadError::damaged("its edit list has fewer entries than it says");
        let mut fields = Fields::new(elst.body);
        let (version, _) = fields.version_and_flags().ok_or_else(damaged)?;
        let count = fields.u32().ok_or_else(damaged)?;
        if count > EDITS_MAX {
            return Err(damaged());
        }

        let mut edit = Edit::default();
        let mut has_media = false;
        for _ in 0..count {
            let (duration, media_time, rate) = entry(&mut fields, version).ok_or_else(damaged)?;
            if media_time == -1 {
                // Behind the media an empty edit shows nothing, so it changes nothing.
                if !has_media {
                    edit.empty = edit.empty.checked_add(duration).ok_or_else(damaged)?;
                }
                continue;
            }
            if has_media {
                return Err(ReadError::unsupported(
                    "a track has several edits; only one piece of media is supported so far",
                ));
            }
            if rate != RATE_NORMAL {
                return Err(ReadError::unsupported(
                    "the edit list of a track changes its speed; only normal speed is supported so far",
                ));
            }
            if media_time < 0 {
                return Err(ReadError::damaged(format!("an edit begins at {media_time}")));
            }
            has_media = true;
            edit.media_time = media_time;
            edit.duration = (duration > 0).then_some(duration);
        }
        if edit.empty / u64::from(movie_timescale) > EMPTY_EDIT_S_MAX {
            return Err(ReadError::damaged("a track begins more than 12 hours late"));
        }
        Ok(edit)
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
    use crate::mp4::{
        boxes::FourCc,
        read::testing::{full_box, plain_box, words},
    };

    const EMPTY: u32 = u32::MAX;

    fn parse(elst: Vec<u8>) -> Result<Edit, String> {
        let trak = plain_box(b"edts", &elst);
        let trak = BoxRef { kind: FourCc(*b"trak"), body: &trak };
        Edit::parse(&trak, 1000).map_err(|error| error.to_string())
    }

    #[test]
    fn ordinary_lists_are_a_wait_a_skip_and_a_trim() {
        fn check(name: &str, entries: &[u32], expected: Edit) {
            let list = [&[entries.len() as u32 / 3][..], entries].concat();
            assert_eq!(parse(full_box(b"elst", 0, &words(&list))), Ok(expected), "{name}");
        }
        check("empty", &[], Edit::default());
        check("skip", &[5000, 1024, RATE_NORMAL], Edit { empty: 0, media_time: 1024, duration: Some(5000) });
        check("to the end", &[0, 1024, RATE_NORMAL], Edit { empty: 0, media_time: 1024, duration: None });
        check(
            "waits, then media, then nothing",
            &[70, EMPTY, RATE_NORMAL, 30, EMPTY, 0, 5000, 0, RATE_NORMAL, 9, EMPTY, RATE_NORMAL],
            Edit { empty: 100, media_time: 0, duration: Some(5000) },
        );
    }

    #[test]
    fn wide_lists_are_read() {
        let entries = words(&[1, 0, 5000, 0, 1024, RATE_NORMAL]);
        let expected = Edit { empty: 0, media_time: 1024, duration: Some(5000) };
        assert_eq!(parse(full_box(b"elst", 1, &entries)), Ok(expected));
    }

    #[test]
    fn other_lists_are_refused() {
        fn check(entries: &[u32], expected: &str) {
            assert_eq!(parse(full_box(b"elst", 0, &words(entries))), Err(expected.into()));
        }
        check(
            &[2, 10, 0, RATE_NORMAL, 10, 50, RATE_NORMAL],
            "a track has several edits; only one piece of media is supported so far",
        );
        for rate in [0, 0x0002_0000, 0xffff_0000] {
            check(
                &[1, 10, 0, rate],
                "the edit list of a track changes its speed; only normal speed is supported so far",
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
