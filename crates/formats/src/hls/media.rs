//! Media playlists: the segments of one rendition.

use std::fmt::Write as _;

use super::VERSION;
use crate::plan::Segment;

/// The playlist of one rendition of a finished media.
#[derive(Debug, Clone, Copy)]
pub struct MediaPlaylist<'a> {
    /// Ticks a second of the segments' times; not 0.
    pub timescale: u32,
    /// The segments in order.
    pub segments: &'a [Segment],
    /// Address of the init segment.
    pub init_uri: &'a str,
}

/// Room for one line pair, so that the text is allocated once.
const SEGMENT_TEXT_LEN: usize = 96;
const MICROSECONDS: i128 = 1_000_000;

impl MediaPlaylist<'_> {
    /// The text. `segment_uri` appends the address of a segment, numbered from 0.
    ///
    /// Durations have six decimals. Each is the difference of two rounded instants, so a line is off by at most a
    /// microsecond and the sum of all lines is the length of the track.
    pub fn render(&self, segment_uri: impl FnMut(&mut String, u32)) -> String {
        self.render_as("", segment_uri)
    }

    /// As [`Self::render`], of segments that are single keyframes. RFC 8216, 4.3.3.6.
    pub fn render_iframes(&self, segment_uri: impl FnMut(&mut String, u32)) -> String {
        self.render_as("#EXT-X-I-FRAMES-ONLY\n", segment_uri)
    }

    fn render_as(&self, kind: &str, mut segment_uri: impl FnMut(&mut String, u32)) -> String {
        let mut text = String::with_capacity(256 + self.segments.len() * SEGMENT_TEXT_LEN);
        let _ = write!(
            text,
            "#EXTM3U\n#EXT-X-VERSION:{VERSION}\n#EXT-X-TARGETDURATION:{}\n#EXT-X-PLAYLIST-TYPE:VOD\n{kind}\
             #EXT-X-MAP:URI=\"{}\"\n",
            self.target_duration_s(),
            self.init_uri,
        );
        for (number, segment) in (0..).zip(self.segments) {
            let duration = self.microseconds(segment.end) - self.microseconds(segment.start);
            let duration = u64::try_from(duration).unwrap_or(0);
            let _ = writeln!(text, "#EXTINF:{}.{:06},", duration / 1_000_000, duration % 1_000_000);
            segment_uri(&mut text, number);
            text.push('\n');
        }
        text.push_str("#EXT-X-ENDLIST\n");
        text
    }

    /// The longest segment in whole seconds, at least 1. RFC 8216, 4.3.3.1: EXTINF rounded to the nearest integer.
    pub fn target_duration_s(&self) -> u64 {
        let timescale = u64::from(self.timescale.max(1));
        let longest = self.segments.iter().map(Segment::duration).max().unwrap_or(0);
        (longest.saturating_add(timescale / 2) / timescale).max(1)
    }

    fn microseconds(&self, ticks: i64) -> i128 {
        microseconds(ticks, self.timescale)
    }
}

/// An instant in microseconds, rounded to the nearest.
pub(super) fn microseconds(ticks: i64, timescale: u32) -> i128 {
    let timescale = i128::from(timescale.max(1));
    (i128::from(ticks) * MICROSECONDS * 2 + timescale).div_euclid(2 * timescale)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segments(starts: &[i64]) -> Vec<Segment> {
        starts.windows(2).map(|pair| Segment { samples: 0..1, start: pair[0], end: pair[1] }).collect()
    }

    fn durations(timescale: u32, starts: &[i64]) -> Vec<String> {
        let segments = segments(starts);
        let text = MediaPlaylist { timescale, segments: &segments, init_uri: "i" }.render(|_, _| {});
        text.lines()
            .filter_map(|line| line.strip_prefix("#EXTINF:"))
            .map(|line| line.trim_end_matches(',').to_owned())
            .collect()
    }

    #[test]
    fn durations_do_not_drift_where_a_tick_has_no_exact_decimals() {
        assert_eq!(durations(3, &[0, 1, 2, 3]), ["0.333333", "0.333334", "0.333333"]);
    }

    #[test]
    fn the_sum_of_the_lines_is_the_length_of_the_track() {
        let starts: Vec<i64> = (0..=1800).map(|number| number * 180_181).collect();
        let sum: f64 = durations(44_100, &starts).iter().map(|line| line.parse::<f64>().unwrap()).sum();
        assert!((sum - 1800.0 * 180_181.0 / 44_100.0).abs() < 1e-5, "{sum}");
    }

    #[test]
    fn durations_are_exact_at_rates_of_broadcast() {
        // Segments of 96 pictures at 24000/1001, of 240 at 60000/1001; two hours of them.
        for (timescale, ticks, expected) in [(24_000, 96_096, "4.004000"), (60_000, 240_240, "4.004000")] {
            let starts: Vec<i64> = (0..=1800).map(|number| number * ticks).collect();
            assert!(durations(timescale, &starts).iter().all(|line| line == expected));
        }
        // One picture: 1001/24000 s is 0.0417083333.
        let starts: Vec<i64> = (0..=24_000).map(|number| number * 1001).collect();
        let lines = durations(24_000, &starts);
        assert!(lines.iter().all(|line| line == "0.041708" || line == "0.041709"));
        let micros: u64 = lines.iter().map(|line| line.replace('.', "").parse::<u64>().unwrap()).sum();
        assert_eq!(micros, 1_001_000_000, "not a microsecond is lost in 24,000 lines");
    }

    #[test]
    fn keyframes_alone_are_said_to_be_so() {
        let segments = segments(&[0, 2000, 3500]);
        let playlist = MediaPlaylist { timescale: 1000, segments: &segments, init_uri: "init.mp4" };
        let text = playlist.render_iframes(|text, number| text.push_str(&format!("iframe/{number}.m4s")));
        assert_eq!(
            text,
            "#EXTM3U\n#EXT-X-VERSION:6\n#EXT-X-TARGETDURATION:2\n#EXT-X-PLAYLIST-TYPE:VOD\n#EXT-X-I-FRAMES-ONLY\n\
             #EXT-X-MAP:URI=\"init.mp4\"\n#EXTINF:2.000000,\niframe/0.m4s\n#EXTINF:1.500000,\niframe/1.m4s\n\
             #EXT-X-ENDLIST\n"
        );
    }

    #[test]
    fn the_target_duration_is_the_longest_one_rounded_to_the_nearest() {
        for (end, expected) in [(400, 1), (1499, 1), (1500, 2), (4400, 4), (4500, 5)] {
            let segments = segments(&[0, end]);
            let playlist = MediaPlaylist { timescale: 1000, segments: &segments, init_uri: "i" };
            assert_eq!(playlist.target_duration_s(), expected, "{end} ms");
        }
    }
}
