//! SRT files, parsed as leniently as players do: there is no standard.

use super::times::{ARROW, read_time, read_timing};
use super::{CUE_TEXT_BYTES_MAX, Cue, SubtitlesError, alignment, markup, push};

/// The cues of a file, in its order. Those with invalid times are left out with their texts.
pub(super) fn read(text: &str) -> Result<Vec<Cue>, SubtitlesError> {
    let mut cues = Vec::new();
    let mut draft: Option<PartialCue<'_>> = None;
    for line in text.split('\n').map(str::trim_end) {
        let timing = read_timing(line.trim_start_matches(is_invisible_mark));
        if timing.is_none() && is_text(line) {
            draft.iter_mut().for_each(|draft| draft.push(line));
            continue;
        }
        if let Some(cue) = draft.take().and_then(|draft| draft.finish(true)) {
            push(&mut cues, cue)?;
        }
        // Text after the times may be coordinates in pixels of an unknown video size, so it is dropped.
        draft = timing.map(|(start_ms, end_ms, _)| PartialCue { start_ms, end_ms, ..PartialCue::default() });
    }
    if let Some(cue) = draft.and_then(|draft| draft.finish(false)) {
        push(&mut cues, cue)?;
    }
    Ok(cues)
}

/// Direction marks, which files in Arabic and Hebrew have before any line, and byte order marks inside
/// joined files.
fn is_invisible_mark(sign: char) -> bool {
    matches!(sign, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{feff}')
}

/// Whether a line without valid times is text. A line with an arrow may be text too. It is none if a number
/// or nothing is before the arrow, as in broken times, or a time is after it.
fn is_text(line: &str) -> bool {
    let Some((before_arrow, after_arrow)) = line.split_once(ARROW) else { return true };
    if after_arrow.split_whitespace().next().is_some_and(|end| read_time(end).is_some()) {
        return false;
    }
    let front = before_arrow.trim_start_matches(is_invisible_mark).trim_start();
    let unsigned = front.strip_prefix(['+', '-']).unwrap_or(front);
    unsigned.chars().next().is_some_and(|first| !first.is_numeric())
}

/// A cue whose text is still being read.
#[derive(Default)]
struct PartialCue<'a> {
    start_ms: u64,
    end_ms: u64,
    lines: Vec<&'a str>,
    len: usize,
    /// The last line, which may be the number of the next cue.
    last: &'a str,
}

impl<'a> PartialCue<'a> {
    fn push(&mut self, line: &'a str) {
        self.last = line;
        // A cue of WebVTT has no empty lines.
        if !line.trim().is_empty() {
            self.len += line.len();
            if self.len <= CUE_TEXT_BYTES_MAX {
                self.lines.push(line);
            }
        }
    }

    /// The cue; `None` without a text, or with one that is no subtitle. If another cue follows, its number
    /// is removed from this one.
    fn finish(mut self, is_followed: bool) -> Option<Cue> {
        if is_followed && !self.last.is_empty() && self.last.trim().bytes().all(|byte| byte.is_ascii_digit())
        {
            self.len -= self.last.len();
            if self.lines.last() == Some(&self.last) {
                self.lines.pop();
            }
        }
        if self.lines.is_empty() || self.len > CUE_TEXT_BYTES_MAX {
            return None;
        }
        let (text, alignment) = alignment::extract_alignment(&self.lines.join("\n"));
        let lines: Vec<String> = text.split('\n').map(markup::srt_to_webvtt).collect();
        // A tag that was removed from the middle of braces may have hidden another alignment.
        let (text, hidden) = alignment::extract_alignment(&lines.join("\n"));
        // A line may have had only commands.
        let lines: Vec<&str> = text.split('\n').filter(|line| !line.trim().is_empty()).collect();
        let text = lines.join("\n");
        (!text.is_empty() && text.len() <= CUE_TEXT_BYTES_MAX).then(|| Cue {
            start_ms: self.start_ms,
            end_ms: self.end_ms,
            id: None,
            settings: alignment.or(hidden).map_or_else(String::new, |alignment| alignment.add_to("")),
            text,
        })
    }
}
