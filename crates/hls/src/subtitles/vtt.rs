//! WebVTT files, parsed by the standard (W3C, WebVTT: The Web Video Text Tracks Format, 6.1) and written.

use std::iter::Peekable;

use super::times::{self, ARROW, read_timing};
use super::timestamp_map::TimestampMap;
use super::{
    BLOCKS_BYTES_MAX, CUE_ID_CHARS_MAX, CUE_TEXT_BYTES_MAX, Cue, Subtitles, SubtitlesError, alignment, push,
};

const SIGNATURE: &str = "WEBVTT";
/// The settings of a cue. WebVTT, 4.4.
const SETTINGS: [&str; 6] = ["vertical", "line", "position", "size", "align", "region"];
/// Characters of the longest setting; the name of a region is the only one that could be longer.
const SETTING_CHARS_MAX: usize = 64;

/// Whether a text has the WebVTT signature.
pub(super) fn is_webvtt(text: &str) -> bool {
    let after_signature = text.strip_prefix(SIGNATURE).map(|rest| rest.chars().next());
    after_signature.is_some_and(|next| matches!(next, None | Some(' ' | '\t' | '\n')))
}

/// The blocks and cues of a WebVTT text, in its order. Invalid parts and notes are left out.
pub(super) fn read(text: &str) -> Result<Subtitles, SubtitlesError> {
    let mut lines = text.split('\n').peekable();
    lines.next();
    // The rest of the head is about the file itself, up to an empty line. Without that line the file begins
    // with a cue.
    let mut map = TimestampMap::default();
    while let Some(line) = lines.next_if(|line| !line.is_empty() && !line.contains(ARROW)) {
        map = TimestampMap::read(line).unwrap_or(map);
    }
    let mut subtitles = Subtitles::default();
    let mut blocks_len = 0;
    while let Some(block) = Block::next(&mut lines) {
        match block.timing {
            Some(timing) => {
                if let Some(cue) = cue(timing, &block).and_then(|cue| map.apply(cue)) {
                    push(&mut subtitles.cues, cue)?;
                }
            }
            // WebVTT, 6.1: neither applies after the first cue.
            None if subtitles.cues.is_empty() && block.is_style_or_region() => {
                let text = block.lines.join("\n");
                blocks_len += text.len();
                if blocks_len <= BLOCKS_BYTES_MAX {
                    subtitles.style_and_region_blocks.push(text);
                }
            }
            None => {}
        }
    }
    Ok(subtitles)
}

/// Lines without an empty one between them.
#[derive(Default)]
struct Block<'a> {
    /// The line before the times.
    id: Option<&'a str>,
    /// The timing line; `None` in a block that is no cue.
    timing: Option<&'a str>,
    /// All other lines, up to the limit of length.
    lines: Vec<&'a str>,
    len: usize,
}

impl<'a> Block<'a> {
    /// The next block; `None` at the end of the text.
    fn next(lines: &mut Peekable<impl Iterator<Item = &'a str>>) -> Option<Self> {
        while lines.next_if(|line| line.is_empty()).is_some() {}
        lines.peek()?;
        let mut block = Self::default();
        while let Some(line) = lines.next_if(|line| !line.is_empty() && !block.ends_before(line)) {
            if line.contains(ARROW) {
                block.id = block.lines.pop();
                block.timing = Some(line);
                block.len = 0;
            } else {
                block.push(line);
            }
        }
        Some(block)
    }

    /// Times begin a new cue, unless they are in the first line, or in the second after an id.
    fn ends_before(&self, line: &str) -> bool {
        line.contains(ARROW) && (self.timing.is_some() || 1 < self.lines.len())
    }

    fn push(&mut self, line: &'a str) {
        self.len += line.len() + 1;
        if self.len <= BLOCKS_BYTES_MAX {
            self.lines.push(line);
        }
    }

    /// Whether it is a complete style sheet or region.
    fn is_style_or_region(&self) -> bool {
        let is_keyword = |first: &&str| ["STYLE", "REGION"].contains(&first.trim_end());
        self.len <= BLOCKS_BYTES_MAX && self.lines.first().is_some_and(is_keyword)
    }
}

/// `None` for a cue without valid times or without a text.
fn cue(timing: &str, block: &Block<'_>) -> Option<Cue> {
    let (start_ms, end_ms, settings) = read_timing(timing)?;
    let (text, alignment) = alignment::extract_alignment(&block.lines.join("\n"));
    let text = text.split('\n').filter(|line| !line.trim().is_empty()).collect::<Vec<_>>().join("\n");
    if block.len > BLOCKS_BYTES_MAX || text.len() > CUE_TEXT_BYTES_MAX || text.is_empty() {
        return None;
    }
    let id = block.id.filter(|id| id.chars().count() <= CUE_ID_CHARS_MAX).map(str::to_owned);
    let settings = known_settings(settings);
    let settings = alignment.map(|alignment| alignment.add_to(&settings)).unwrap_or(settings);
    Some(Cue { start_ms, end_ms, id, settings, text })
}

/// The settings that the standard defines, each with a value.
fn known_settings(settings: &str) -> String {
    let is_known = |setting: &&str| {
        let value =
            setting.split_once(':').filter(|(name, _)| SETTINGS.contains(name)).map(|(_, value)| value);
        value.is_some_and(|value| !value.is_empty()) && setting.chars().count() <= SETTING_CHARS_MAX
    };
    let has_arrow = settings.contains(ARROW);
    let settings: Vec<&str> = settings.split_whitespace().filter(is_known).take(SETTINGS.len()).collect();
    // A second arrow would be parsed as the times of another cue.
    if has_arrow { String::new() } else { settings.join(" ") }
}

/// Appends blocks and cues, each followed by an empty line.
pub(super) fn write<'a>(text: &mut String, blocks: &[String], cues: impl Iterator<Item = &'a Cue>) {
    for block in blocks {
        text.push_str(block);
        text.push_str("\n\n");
    }
    for cue in cues {
        if let Some(id) = &cue.id {
            text.push_str(id);
            text.push('\n');
        }
        times::write(text, cue.start_ms);
        text.push_str(" --> ");
        times::write(text, cue.end_ms);
        if !cue.settings.is_empty() {
            text.push(' ');
            text.push_str(&cue.settings);
        }
        text.push('\n');
        text.push_str(&cue.text);
        text.push_str("\n\n");
    }
}
