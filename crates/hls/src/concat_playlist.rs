//! The media playlist of several sources that play in sequence.

use std::fmt::Write as _;

use kinora_index::Segment;

use crate::{VERSION, media::microseconds};

/// Several sources in a row, each with its own timescale, init segments and codecs. RFC 8216, 4.3.2.3: there
/// is a discontinuity between two sources.
///
/// Each source must have the same length in all playlists that play together: players find the audio of a
/// time by the sums of the durations. So the caller states where the segments end.
#[derive(Debug, Default)]
pub struct ConcatPlaylist {
    lines: String,
    longest_us: u64,
    has_source: bool,
    /// End of the current source so far, in microseconds.
    position_us: u64,
}

impl ConcatPlaylist {
    /// Begins the next source.
    pub fn begin(&mut self) {
        if self.has_source {
            self.lines.push_str("#EXT-X-DISCONTINUITY\n");
        }
        self.has_source = true;
        self.position_us = 0;
    }

    /// Adds segments of the current source. The last one ends at `until_us`, regardless of its content.
    /// Segments that begin there or later are left out. `segment_uri` appends the address of a segment,
    /// numbered from 0.
    pub fn push(
        &mut self,
        init_uri: &str,
        (timescale, segments): (u32, &[Segment]),
        until_us: u64,
        mut segment_uri: impl FnMut(&mut String, u32),
    ) {
        let instant = |ticks: i64| u64::try_from(microseconds(ticks, timescale)).unwrap_or(0);
        // Writing to a String cannot fail: the result of `write!` is ignored.
        let _ = writeln!(self.lines, "#EXT-X-MAP:URI=\"{init_uri}\"");
        let mut segments = (0..).zip(segments).peekable();
        while let Some((number, segment)) = segments.next() {
            let is_last = segments.peek().is_none_or(|(_, next)| until_us <= instant(next.start));
            let end = if is_last { until_us } else { instant(segment.end) };
            let duration = end.saturating_sub(self.position_us);
            if 0 < duration {
                let _ = writeln!(self.lines, "#EXTINF:{}.{:06},", duration / 1_000_000, duration % 1_000_000);
                segment_uri(&mut self.lines, number);
                self.lines.push('\n');
                self.longest_us = self.longest_us.max(duration);
                self.position_us = end;
            }
            if is_last {
                break;
            }
        }
    }

    /// The text of the playlist. It does not state that it never changes, because the list may.
    pub fn render(&self) -> String {
        let target_s = (self.longest_us.saturating_add(500_000) / 1_000_000).max(1);
        let lines = &self.lines;
        format!(
            "#EXTM3U\n#EXT-X-VERSION:{VERSION}\n#EXT-X-TARGETDURATION:{target_s}\n{lines}#EXT-X-ENDLIST\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segments(starts: &[i64]) -> Vec<Segment> {
        starts.windows(2).map(|pair| Segment { samples: 0..1, start: pair[0], end: pair[1] }).collect()
    }

    fn push(playlist: &mut ConcatPlaylist, name: &str, starts: &[i64], until_us: u64) {
        let uri = |text: &mut String, number: u32| text.push_str(&format!("{name}{number}"));
        playlist.push(name, (1000, &segments(starts)), until_us, uri);
    }

    #[test]
    fn sources_follow_one_another_with_their_own_init_segments() {
        let mut playlist = ConcatPlaylist::default();
        playlist.begin();
        push(&mut playlist, "a", &[0, 2000, 4400], 4_400_000);
        playlist.begin();
        push(&mut playlist, "b", &[0, 1500], 1_500_000);
        push(&mut playlist, "c", &[1510, 2000], 2_000_000);
        assert_eq!(
            playlist.render(),
            "#EXTM3U\n#EXT-X-VERSION:6\n#EXT-X-TARGETDURATION:2\n#EXT-X-MAP:URI=\"a\"\n#EXTINF:2.000000,\na0\n\
             #EXTINF:2.400000,\na1\n#EXT-X-DISCONTINUITY\n#EXT-X-MAP:URI=\"b\"\n#EXTINF:1.500000,\nb0\n\
             #EXT-X-MAP:URI=\"c\"\n#EXTINF:0.500000,\nc0\n#EXT-X-ENDLIST\n"
        );
    }

    #[test]
    fn source_is_listed_with_its_given_duration() {
        let check = |until_us, expected: &[&str]| {
            let mut playlist = ConcatPlaylist::default();
            playlist.begin();
            push(&mut playlist, "a", &[0, 2000, 4000, 5000], until_us);
            let text = playlist.render();
            let lines: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("#EXTINF:")).collect();
            assert_eq!(lines, expected, "{until_us}");
        };
        check(5_000_000, &["2.000000,", "2.000000,", "1.000000,"]);
        check(5_020_000, &["2.000000,", "2.000000,", "1.020000,"]);
        check(4_500_000, &["2.000000,", "2.000000,", "0.500000,"]);
        check(4_000_000, &["2.000000,", "2.000000,"]);
        check(3_000_000, &["2.000000,", "1.000000,"]);
    }
}
