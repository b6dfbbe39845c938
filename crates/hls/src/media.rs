//! Media playlists: the segments of one rendition.

use std::fmt::Write as _;

use kinora_index::Segment;

use crate::VERSION;

/// The playlist of one rendition of a finished media.
#[derive(Debug, Clone, Copy)]
pub struct MediaPlaylist<'a> {
    /// Ticks a second of the segments' times; not 0.
    pub timescale: u32,
    /// The segments in order.
    pub segments: &'a [Segment],
    /// Address of the init segment of the first one.
    pub init_uri: &'a str,
    /// Discontinuities by rising segment number; most playlists have none.
    pub discontinuities: &'a [Discontinuity],
}

/// A discontinuity: the first segment of another part. RFC 8216, 4.3.2.3.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discontinuity {
    /// Number of the segment.
    pub segment: u32,
    /// Address of the init segment from here on, if it changes.
    pub init_uri: Option<String>,
}

/// Encryption of the files of a playlist: each one as a whole with AES-128-CBC, under one key. RFC 8216,
/// 4.3.2.4.
#[derive(Clone, Copy)]
pub struct FileEncryption<'a> {
    /// Address of the key.
    pub key_uri: &'a str,
    /// The initialisation vector of the file with this address; of init segments too, as 4.3.2.5 requires.
    pub iv: &'a dyn Fn(&str) -> [u8; 16],
}

/// Capacity for one line pair, so that the text is allocated once.
const SEGMENT_TEXT_LEN: usize = 96;
/// Capacity for the line of a key.
const KEY_TEXT_LEN: usize = 96;
const IFRAMES_ONLY: &str = "#EXT-X-I-FRAMES-ONLY\n";
const MICROSECONDS_PER_SECOND: i128 = 1_000_000;

impl MediaPlaylist<'_> {
    /// The text of the playlist. `segment_uri` appends the address of a segment, numbered from 0.
    ///
    /// Durations have six decimals. Each is the difference of two rounded times, so a line is off by at most
    /// a microsecond and the sum of all lines is the length of the track.
    pub fn render(&self, segment_uri: impl FnMut(&mut String, u32)) -> String {
        self.render_as("", None, segment_uri)
    }

    /// As [`Self::render`], for segments that are single keyframes. RFC 8216, 4.3.3.6.
    pub fn render_iframes(&self, segment_uri: impl FnMut(&mut String, u32)) -> String {
        self.render_as(IFRAMES_ONLY, None, segment_uri)
    }

    /// As [`Self::render`], for encrypted files.
    pub fn render_encrypted(
        &self,
        encryption: FileEncryption<'_>,
        segment_uri: impl FnMut(&mut String, u32),
    ) -> String {
        self.render_as("", Some(encryption), segment_uri)
    }

    /// As [`Self::render_iframes`], for encrypted files.
    pub fn render_encrypted_iframes(
        &self,
        encryption: FileEncryption<'_>,
        segment_uri: impl FnMut(&mut String, u32),
    ) -> String {
        self.render_as(IFRAMES_ONLY, Some(encryption), segment_uri)
    }

    fn render_as(
        &self,
        kind: &str,
        encryption: Option<FileEncryption<'_>>,
        mut segment_uri: impl FnMut(&mut String, u32),
    ) -> String {
        let line_len = SEGMENT_TEXT_LEN + encryption.map_or(0, |_| KEY_TEXT_LEN);
        let mut text = String::with_capacity(256 + self.segments.len() * line_len);
        let _ = write!(
            text,
            "#EXTM3U\n#EXT-X-VERSION:{VERSION}\n#EXT-X-TARGETDURATION:{}\n#EXT-X-PLAYLIST-TYPE:VOD\n{kind}",
            self.target_duration_s(),
        );
        // A key applies to the files after it, up to the next key.
        let write_key = |text: &mut String, uri: &str| {
            let Some(FileEncryption { key_uri, iv }) = encryption else { return };
            let _ = write!(text, "#EXT-X-KEY:METHOD=AES-128,URI=\"{key_uri}\",IV=0x");
            for byte in iv(uri) {
                let _ = write!(text, "{byte:02X}");
            }
            text.push('\n');
        };
        let write_map = |text: &mut String, uri: &str| {
            write_key(text, uri);
            let _ = writeln!(text, "#EXT-X-MAP:URI=\"{uri}\"");
        };
        write_map(&mut text, self.init_uri);
        let mut discontinuities = self.discontinuities.iter().peekable();
        let mut uri = String::new();
        for (number, segment) in (0..).zip(self.segments) {
            while let Some(Discontinuity { init_uri, .. }) =
                discontinuities.next_if(|next| next.segment <= number)
            {
                text.push_str("#EXT-X-DISCONTINUITY\n");
                if let Some(uri) = init_uri {
                    write_map(&mut text, uri);
                }
            }
            uri.clear();
            segment_uri(&mut uri, number);
            write_key(&mut text, &uri);
            let duration = self.microseconds(segment.end) - self.microseconds(segment.start);
            let duration = u64::try_from(duration).unwrap_or(0);
            let _ = writeln!(text, "#EXTINF:{}.{:06},", duration / 1_000_000, duration % 1_000_000);
            text.push_str(&uri);
            text.push('\n');
        }
        text.push_str("#EXT-X-ENDLIST\n");
        text
    }

    /// The longest segment in whole seconds, at least 1. RFC 8216, 4.3.3.1: EXTINF rounded to the nearest
    /// integer.
    pub fn target_duration_s(&self) -> u64 {
        let timescale = u64::from(self.timescale.max(1));
        let longest = self.segments.iter().map(Segment::duration).max().unwrap_or(0);
        (longest.saturating_add(timescale / 2) / timescale).max(1)
    }

    fn microseconds(&self, ticks: i64) -> i128 {
        microseconds(ticks, self.timescale)
    }
}

/// A time in microseconds, rounded to the nearest.
pub(crate) fn microseconds(ticks: i64, timescale: u32) -> i128 {
    let timescale = i128::from(timescale.max(1));
    (i128::from(ticks) * MICROSECONDS_PER_SECOND * 2 + timescale).div_euclid(2 * timescale)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segments(starts: &[i64]) -> Vec<Segment> {
        starts.windows(2).map(|pair| Segment { samples: 0..1, start: pair[0], end: pair[1] }).collect()
    }

    fn durations(timescale: u32, starts: &[i64]) -> Vec<String> {
        let segments = segments(starts);
        let text = MediaPlaylist { timescale, segments: &segments, init_uri: "i", discontinuities: &[] }
            .render(|_, _| {});
        text.lines()
            .filter_map(|line| line.strip_prefix("#EXTINF:"))
            .map(|line| line.trim_end_matches(',').to_owned())
            .collect()
    }

    #[test]
    fn extinf_rounding_does_not_drift() {
        assert_eq!(durations(3, &[0, 1, 2, 3]), ["0.333333", "0.333334", "0.333333"]);
    }

    #[test]
    fn extinf_sum_is_track_duration() {
        let starts: Vec<i64> = (0..=1800).map(|number| number * 180_181).collect();
        let sum: f64 = durations(44_100, &starts).iter().map(|line| line.parse::<f64>().unwrap()).sum();
        assert!((sum - 1800.0 * 180_181.0 / 44_100.0).abs() < 1e-5, "{sum}");
    }

    #[test]
    fn extinf_is_exact_at_broadcast_frame_rates() {
        // Segments of 96 frames at 24000/1001, of 240 at 60000/1001; two hours of them.
        for (timescale, ticks, expected) in [(24_000, 96_096, "4.004000"), (60_000, 240_240, "4.004000")] {
            let starts: Vec<i64> = (0..=1800).map(|number| number * ticks).collect();
            assert!(durations(timescale, &starts).iter().all(|line| line == expected));
        }
        // One frame: 1001/24000 s is 0.0417083333.
        let starts: Vec<i64> = (0..=24_000).map(|number| number * 1001).collect();
        let lines = durations(24_000, &starts);
        assert!(lines.iter().all(|line| line == "0.041708" || line == "0.041709"));
        let micros: u64 = lines.iter().map(|line| line.replace('.', "").parse::<u64>().unwrap()).sum();
        assert_eq!(micros, 1_001_000_000, "not a microsecond is lost in 24,000 lines");
    }

    #[test]
    fn iframe_playlist_has_i_frames_only_tag() {
        let segments = segments(&[0, 2000, 3500]);
        let playlist = MediaPlaylist {
            timescale: 1000,
            segments: &segments,
            init_uri: "init.mp4",
            discontinuities: &[],
        };
        let text = playlist.render_iframes(|text, number| text.push_str(&format!("iframe/{number}.m4s")));
        assert_eq!(
            text,
            "#EXTM3U\n#EXT-X-VERSION:6\n#EXT-X-TARGETDURATION:2\n#EXT-X-PLAYLIST-TYPE:VOD\n#EXT-X-I-FRAMES-ONLY\n\
             #EXT-X-MAP:URI=\"init.mp4\"\n#EXTINF:2.000000,\niframe/0.m4s\n#EXTINF:1.500000,\niframe/1.m4s\n\
             #EXT-X-ENDLIST\n"
        );
    }

    #[test]
    fn each_encrypted_segment_has_its_own_iv() {
        let segments = segments(&[0, 2000, 3500]);
        let playlist = MediaPlaylist {
            timescale: 1000,
            segments: &segments,
            init_uri: "init.mp4",
            discontinuities: &[],
        };
        let iv = |uri: &str| match uri {
            "init.mp4" => [0; 16],
            "0.m4s" => [0xab; 16],
            "1.m4s" => [1; 16],
            other => panic!("no file is called {other}"),
        };
        let encryption = FileEncryption { key_uri: "../key", iv: &iv };
        let uri = |text: &mut String, number| text.push_str(&format!("{number}.m4s"));
        let expected = "#EXTM3U\n#EXT-X-VERSION:6\n#EXT-X-TARGETDURATION:2\n#EXT-X-PLAYLIST-TYPE:VOD\n\
             #EXT-X-KEY:METHOD=AES-128,URI=\"../key\",IV=0x00000000000000000000000000000000\n#EXT-X-MAP:URI=\"init.mp4\"\n\
             #EXT-X-KEY:METHOD=AES-128,URI=\"../key\",IV=0xABABABABABABABABABABABABABABABAB\n#EXTINF:2.000000,\n0.m4s\n\
             #EXT-X-KEY:METHOD=AES-128,URI=\"../key\",IV=0x01010101010101010101010101010101\n#EXTINF:1.500000,\n1.m4s\n\
             #EXT-X-ENDLIST\n";
        assert_eq!(playlist.render_encrypted(encryption, uri), expected);
        let iframes = expected.replacen("TYPE:VOD\n", "TYPE:VOD\n#EXT-X-I-FRAMES-ONLY\n", 1);
        assert_eq!(playlist.render_encrypted_iframes(encryption, uri), iframes);
        // Without its keys it equals the clear playlist.
        let clear: String =
            expected.split_inclusive('\n').filter(|line| !line.starts_with("#EXT-X-KEY")).collect();
        assert_eq!(playlist.render(uri), clear);
    }

    #[test]
    fn new_part_starts_with_discontinuity() {
        let segments = segments(&[0, 2000, 3500, 5000]);
        let changed = |segment, init_uri: Option<&str>| Discontinuity {
            segment,
            init_uri: init_uri.map(str::to_owned),
        };
        let breaks = [changed(1, Some("init-1.mp4")), changed(2, None)];
        let playlist = MediaPlaylist {
            timescale: 1000,
            segments: &segments,
            init_uri: "init.mp4",
            discontinuities: &breaks,
        };
        let uri = |text: &mut String, number| text.push_str(&format!("{number}.m4s"));
        let head = "#EXTM3U\n#EXT-X-VERSION:6\n#EXT-X-TARGETDURATION:2\n#EXT-X-PLAYLIST-TYPE:VOD\n";
        assert_eq!(
            playlist.render(uri),
            format!(
                "{head}#EXT-X-MAP:URI=\"init.mp4\"\n#EXTINF:2.000000,\n0.m4s\n\
                 #EXT-X-DISCONTINUITY\n#EXT-X-MAP:URI=\"init-1.mp4\"\n#EXTINF:1.500000,\n1.m4s\n\
                 #EXT-X-DISCONTINUITY\n#EXTINF:1.500000,\n2.m4s\n#EXT-X-ENDLIST\n"
            )
        );
        // An init segment is encrypted like any other file.
        let iv = |uri: &str| if uri == "init-1.mp4" { [2; 16] } else { [0; 16] };
        let text = playlist.render_encrypted(FileEncryption { key_uri: "k", iv: &iv }, uri);
        let lines: Vec<_> =
            text.lines().skip_while(|line| !line.starts_with("#EXT-X-DISC")).take(3).collect();
        assert_eq!(
            lines,
            [
                "#EXT-X-DISCONTINUITY",
                "#EXT-X-KEY:METHOD=AES-128,URI=\"k\",IV=0x02020202020202020202020202020202",
                "#EXT-X-MAP:URI=\"init-1.mp4\""
            ]
        );
    }

    #[test]
    fn target_duration_is_the_rounded_longest_segment() {
        for (end, expected) in [(400, 1), (1499, 1), (1500, 2), (4400, 4), (4500, 5)] {
            let segments = segments(&[0, end]);
            let playlist =
                MediaPlaylist { timescale: 1000, segments: &segments, init_uri: "i", discontinuities: &[] };
            assert_eq!(playlist.target_duration_s(), expected, "{end} ms");
        }
    }
}
