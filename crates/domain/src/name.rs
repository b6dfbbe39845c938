//! Names that people give: of themselves, of access tokens, of workspaces and of the organisation.

/// Longest name, in characters. Our own limit.
pub(crate) const MAX: usize = 80;

/// Validates a name and removes spaces around it. The error is a sentence for the client.
pub(crate) fn parse(text: &str) -> Result<String, &'static str> {
    let name = text.trim();
    if name.chars().count() > MAX {
        return Err("must have at most 80 characters");
    }
    check(name).map(|()| name.to_owned())
}

/// Whether people can read a name, of any length. The error is a sentence for the client.
pub(crate) fn check(name: &str) -> Result<(), &'static str> {
    if name.trim().is_empty() {
        Err("must not be empty")
    } else if name.chars().any(char::is_control) {
        Err("must not contain control characters")
    } else if name.chars().any(is_hidden) {
        Err("must not contain invisible characters or characters that change the direction of text")
    } else {
        Ok(())
    }
}

/// Whether a character is not seen, or changes the order in which the letters around it are shown. With these
/// a name can look like another one, also in the audit log. The two joiners, U+200C and U+200D, stay: Persian
/// and Indic names are written with them.
fn is_hidden(letter: char) -> bool {
    matches!(
        letter,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const HIDDEN: &str =
        "must not contain invisible characters or characters that change the direction of text";

    #[test]
    fn name_has_1_to_80_characters_without_control() {
        let check = |text: &str, expected: Result<&str, &'static str>| {
            assert_eq!(parse(text).as_deref().map_err(|why| *why), expected, "{text:?}");
        };
        check(" Ada Lovelace\n", Ok("Ada Lovelace"));
        check("李", Ok("李"));
        check("עדה", Ok("עדה"));
        check(&"é".repeat(80), Ok(&"é".repeat(80)));
        check(&"é".repeat(81), Err("must have at most 80 characters"));
        check("  ", Err("must not be empty"));
        check("a\u{0}b", Err("must not contain control characters"));
    }

    #[test]
    fn invisible_and_bidirectional_characters_are_rejected() {
        let ranges = [
            0xad..=0xad,
            0x61c..=0x61c,
            0x180e..=0x180e,
            0x200b..=0x200b,
            0x200e..=0x200f,
            0x202a..=0x202e,
            0x2060..=0x206f,
            0xfeff..=0xfeff,
            0xe0000..=0xe007f,
        ];
        for letter in ranges.into_iter().flatten().filter_map(char::from_u32) {
            for name in [format!("Ada{letter}"), format!("{letter}Ada"), letter.to_string()] {
                assert_eq!(parse(&name), Err(HIDDEN), "{name:?}");
                assert_eq!(check(&name), Err(HIDDEN), "{name:?}");
            }
        }
        for letter in ['\u{200a}', '\u{200c}', '\u{200d}', '\u{2010}', '\u{2070}', '\u{fe0f}', '\u{1f600}'] {
            assert_eq!(check(&format!("a{letter}b")), Ok(()), "{letter:?}");
        }
    }
}
