//! Subtitles segmented for HLS: a playlist, and WebVTT segments that repeat the cues which cross their
//! borders (RFC 8216, 3.5).

use std::fmt::Write as _;

use super::{Subtitles, vtt};

/// Duration of a segment in seconds. It has some hundred cues at most, so a player gets the first one at
/// once and requests seldom.
///
/// RFC 8216, 6.2.4: subtitle segments need not be as long as those of the video.
pub const SUBTITLE_SEGMENT_S: u64 = 30;
/// Most segments of a playlist: those of a day. A longer media has longer segments.
const SEGMENTS_MAX: u64 = 2880;
/// Bytes of the cues of a segment: far more than can be read in its time. Without the limit, a file whose
/// cues all overlap would repeat all of them in each segment.
const CUES_BYTES_MAX: usize = 256 << 10;
/// Bytes of the timing line of a cue.
const TIMES_LEN: usize = 30;
/// States that cue times are those of the presentation, which begins at 0. RFC 8216, 3.5.
const TIMESTAMP_MAP: &str = "X-TIMESTAMP-MAP=MPEGTS:0,LOCAL:00:00:00.000";

/// Segmentation of the subtitles of a media, equal for all of its languages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubtitleSegments {
    duration_us: u64,
}

impl SubtitleSegments {
    /// The segmentation for a media of this duration.
    pub fn of_duration(duration_us: u64) -> Self {
        Self { duration_us }
    }

    /// The number of segments; at least one.
    pub fn count(&self) -> u32 {
        let count = self.duration_us.div_ceil(self.segment_us()).max(1);
        u32::try_from(count).expect("at most SEGMENTS_MAX")
    }

    fn segment_us(&self) -> u64 {
        self.segment_s() * 1_000_000
    }

    fn segment_s(&self) -> u64 {
        SUBTITLE_SEGMENT_S.max(self.duration_us.div_ceil(1_000_000).div_ceil(SEGMENTS_MAX))
    }

    /// The playlist, with addresses relative to it: `0.vtt`.
    pub fn playlist(&self) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "#EXTM3U\n#EXT-X-VERSION:{}\n#EXT-X-TARGETDURATION:{}\n#EXT-X-PLAYLIST-TYPE:VOD\n",
            crate::VERSION,
            self.segment_s(),
        );
        for number in 0..self.count() {
            let start = u64::from(number) * self.segment_us();
            let duration = self.segment_us().min(self.duration_us.saturating_sub(start));
            let _ =
                writeln!(text, "#EXTINF:{}.{:06},\n{number}.vtt", duration / 1_000_000, duration % 1_000_000);
        }
        text.push_str("#EXT-X-ENDLIST\n");
        text
    }

    /// Segment `number`: every cue that is shown in its time, in order, up to 256 KiB of text. `None` for
    /// one that the playlist does not list.
    pub fn segment(&self, subtitles: &Subtitles, number: u32) -> Option<String> {
        if number >= self.count() {
            return None;
        }
        let segment_ms = self.segment_us() / 1000;
        let start = u64::from(number) * segment_ms;
        let end = start + segment_ms;
        let mut text = format!("WEBVTT\n{TIMESTAMP_MAP}\n\n");
        // In the order of their start times.
        let begun = subtitles.cues.iter().take_while(|cue| cue.start_ms < end);
        let mut bytes = 0;
        let shown = begun.filter(|cue| start < cue.end_ms).take_while(|cue| {
            bytes += TIMES_LEN + cue.text.len() + cue.settings.len() + cue.id.as_ref().map_or(0, String::len);
            bytes <= CUES_BYTES_MAX
        });
        vtt::write(&mut text, &subtitles.style_and_region_blocks, shown);
        Some(text)
    }
}
