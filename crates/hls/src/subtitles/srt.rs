//! SRT files, as leniently as players read them: there is no standard.

use super::times::{ARROW, read_time, read_timing};
use super::{CUE_TEXT_MAX, Cue, SubtitlesError, alignment, markup, push};

/// The cues of a file, in its order. Those whose times cannot be read are left out with their texts.
pub(super) fn read(text: &str) -> Result<Vec<Cue>, SubtitlesError> {
    let mut cues = Vec::new();
    let mut draft: Option<Draft<'_>> = None;
    for line in text.split('\n').map(str::trim_end) {
        let timing = read_timing(line.trim_start_matches(is_mark));
        if timing.is_none() && is_text(line) {
            draft.iter_mut().for_each(|draft| draft.push(line));
            continue;
        }
        if let Some(cue) = draft.take().and_then(|draft| draft.finish(true)) {
            push(&mut cues, cue)?;
        }
        // What may stand behind the times are places in pixels of a video that nobody knows.
        draft = timing.map(|(start_ms, end_ms, _)| Draft { start_ms, end_ms, ..Draft::default() });
    }
    if let Some(cue) = draft.and_then(|draft| draft.finish(false)) {
        push(&mut cues, cue)?;
    }
    Ok(cues)
}

/// Marks of direction, which files in Arabic and Hebrew have in front of any line, and of byte order, where
/// files were joined.
fn is_mark(sign: char) -> bool {
    matches!(sign, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{feff}')
}

/// Whether a line without readable times is something that is said. An arrow may be in that too: then it is
/// no text where a number stands in front, or nothing at all, which is what broken times have, or a time
/// behind it.
fn is_text(line: &str) -> bool {
    let Some((front, behind)) = line.split_once(ARROW) else { return true };
    if behind.split_whitespace().next().is_some_and(|end| read_time(end).is_some()) {
        return false;
    }
    let front = front.trim_start_matches(is_mark).trim_start();
    let unsigned = front.strip_prefix(['+', '-']).unwrap_or(front);
    unsigned.chars().next().is_some_and(|first| !first.is_numeric())
}

/// A cue whose text is still read.
#[derive(Default)]
struct Draft<'a> {
    start_ms: u64,
    end_ms: u64,
    lines: Vec<&'a str>,
    len: usize,
    /// The line that was read last, which may be the number of the next cue.
    last: &'a str,
}

impl<'a> Draft<'a> {
    fn push(&mut self, line: &'a str) {
        self.last = line;
        // A cue of WebVTT has no empty lines.
        if !line.trim().is_empty() {
            self.len += line.len();
            if self.len <= CUE_TEXT_MAX {
                self.lines.push(line);
            }
        }
    }

    /// The cue; `None` without a text, or with one that is no subtitle. In front of another cue its number
    /// does not belong to this one.
    fn finish(mut self, is_followed: bool) -> Option<Cue> {
        if is_followed && !self.last.is_empty() && self.last.trim().bytes().all(|byte| byte.is_ascii_digit())
        {
            self.len -= self.last.len();
            if self.lines.last() == Some(&self.last) {
                self.lines.pop();
            }
        }
        if self.lines.is_empty() || self.len > CUE_TEXT_MAX {
            return None;
        }
        let (text, alignment) = alignment::take(&self.lines.join("\n"));
        let lines: Vec<String> = text.split('\n').map(markup::of_srt).collect();
        // A tag that was left out in the middle of braces may have hidden another one.
        let (text, hidden) = alignment::take(&lines.join("\n"));
        // Nothing but commands may have been in a line.
        let lines: Vec<&str> = text.split('\n').filter(|line| !line.trim().is_empty()).collect();
        let text = lines.join("\n");
        (!text.is_empty() && text.len() <= CUE_TEXT_MAX).then(|| Cue {
            start_ms: self.start_ms,
            end_ms: self.end_ms,
            id: None,
            settings: alignment.or(hidden).map_or_else(String::new, |alignment| alignment.add_to("")),
            text,
        })
    }
}
