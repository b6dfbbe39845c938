//! Alignment of SubStation Alpha, `{\an8}`, as settings of a WebVTT cue.
//!
//! No standard of SRT or WebVTT has it, but players of both support it: subtitles move to the top if the
//! bottom of the video has a caption of its own.

/// Bytes of the longest block in braces that is parsed; a longer one is text.
const BLOCK_LEN_MAX: usize = 256;
/// The settings that position a cue; a cue with one of them keeps its position.
const POSITION_SETTINGS: [&str; 5] = ["line", "position", "align", "region", "vertical"];

/// Position of a cue: a key of the numeric keypad, 1 at the bottom left to 9 at the top right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Alignment(u8);

impl Alignment {
    /// Parses one command: `an8`, or `a6` as in SubStation 4, where 1 to 3 are the bottom, 4 more the top
    /// and 8 more the middle.
    fn parse_command(command: &str) -> Option<Self> {
        let number = |digits: &str| {
            let is_number = digits.len() <= 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| digits.parse::<u8>().ok())?
        };
        let key = match command.strip_prefix("an") {
            Some(digits) => number(digits)?,
            None => match number(command.strip_prefix('a')?)? {
                bottom @ 1..=3 => bottom,
                top @ 5..=7 => top + 2,
                middle @ 9..=11 => middle - 5,
                _ => return None,
            },
        };
        (1..=9).contains(&key).then_some(Self(key))
    }

    /// Adds the alignment to the settings of a cue.
    ///
    /// The edge has a margin of 5 %. A line of 50 % is the top edge of the cue: not all players support
    /// `50%,center`, which would be its middle.
    pub(super) fn add_to(self, settings: &str) -> String {
        let named_settings = settings.split_whitespace().filter_map(|setting| setting.split_once(':'));
        if named_settings.into_iter().any(|(name, _)| POSITION_SETTINGS.contains(&name)) {
            return settings.to_owned();
        }
        let line = match self.0 {
            7..=9 => "line:0",
            4..=6 => "line:50%",
            _ => "",
        };
        let side = match self.0 % 3 {
            1 => "position:5% align:left",
            0 => "position:95% align:right",
            _ => "",
        };
        let parts = [settings, line, side].into_iter().filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join(" ")
    }
}

/// The text without alignment blocks, and the alignment of the first of them. Other blocks stay. The
/// remaining text has no alignment block.
pub(super) fn extract_alignment(text: &str) -> (String, Option<Alignment>) {
    let (mut remaining, mut alignment) = (String::with_capacity(text.len()), None);
    for letter in text.chars() {
        if letter == '}'
            && let Some(at) = open_brace(&remaining)
            && let Some(found) = parse_block(&remaining[at + 1..])
        {
            remaining.truncate(at);
            alignment = alignment.or(Some(found));
        } else {
            remaining.push(letter);
        }
    }
    (remaining, alignment)
}

/// The start of the block that would end here, in this line.
fn open_brace(remaining: &str) -> Option<usize> {
    let near = remaining.bytes().rev().take(BLOCK_LEN_MAX);
    let back = near.take_while(|byte| !matches!(byte, b'\n' | b'}')).position(|byte| byte == b'{')?;
    Some(remaining.len() - 1 - back)
}

/// Parses the commands between two braces, each with a backslash in front.
fn parse_block(commands: &str) -> Option<Alignment> {
    let commands = commands.strip_prefix('\\')?;
    commands.split('\\').find_map(|command| Alignment::parse_command(command.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alignment_tags_become_cue_settings() {
        let check = |tag: &str, settings: &str| {
            let (text, alignment) = extract_alignment(&format!("{{\\{tag}}}a"));
            let alignment = alignment.unwrap_or_else(|| panic!("{tag}"));
            assert_eq!((text.as_str(), alignment.add_to("").as_str()), ("a", settings), "{tag}");
        };
        for (tags, settings) in [
            (["an1", "a1"], "position:5% align:left"),
            (["an2", "a2"], ""),
            (["an3", "a3"], "position:95% align:right"),
            (["an4", "a9"], "line:50% position:5% align:left"),
            (["an5", "a10"], "line:50%"),
            (["an6", "a11"], "line:50% position:95% align:right"),
            (["an7", "a5"], "line:0 position:5% align:left"),
            (["an8", "a6"], "line:0"),
            (["an9", "a7"], "line:0 position:95% align:right"),
        ] {
            tags.iter().for_each(|tag| check(tag, settings));
        }
    }

    #[test]
    fn file_cue_settings_override_alignment_tag() {
        for settings in ["line:90%", "size:50% align:start", "region:a", "vertical:rl", "position:10%"] {
            assert_eq!(Alignment(8).add_to(settings), settings);
        }
        assert_eq!(Alignment(7).add_to("size:50%"), "size:50% line:0 position:5% align:left");
    }

    #[test]
    fn only_ass_alignment_blocks_are_removed() {
        let check = |text: &str, left: &str, key: Option<u8>| {
            let (found, alignment) = extract_alignment(text);
            assert_eq!((found.as_str(), alignment.map(|found| found.0)), (left, key), "{text}");
            assert_eq!(extract_alignment(&found), (found, None), "{text}");
        };
        check("{\\an8}a {\\an1}b", "a b", Some(8));
        check("a{\\i1\\an9\\fs20}b", "ab", Some(9));
        check("{\\an8 }a", "a", Some(8));
        check("{{\\an8}\\an2}a", "a", Some(8));
        check("{\\x{\\an8}", "{\\x", Some(8));
        for text in [
            "{\\i1}a",
            "{\\an0}a",
            "{\\an10}a",
            "{\\an}a",
            "{\\a4}a",
            "{\\a8}a",
            "{\\a12}a",
            "{an8}a",
            "\\an8}a",
            "{\\an8",
            "{\\an8\n}",
            "{\\anx}",
            "{\\an+8}",
            "{}",
            "}",
            "ü}",
        ] {
            check(text, text, None);
        }
        let long = format!("{{\\{}\\an8}}", "x".repeat(BLOCK_LEN_MAX));
        check(&long, &long, None);
    }
}
