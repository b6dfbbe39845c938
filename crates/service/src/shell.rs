//! Text in commands that are printed for people to paste.

/// Whether neither a shell nor a library changes the text where it stands without quotes.
pub(crate) fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b":/._-%".contains(&byte))
}

/// The text as one word of a command for a POSIX shell: in single quotes where it needs them.
pub fn shell_word(text: &str) -> String {
    if is_plain(text) && !text.is_empty() { text.to_owned() } else { shell_quote(text) }
}

/// The text in single quotes, for a shell.
pub(crate) fn shell_quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn word_is_quoted_where_a_shell_would_change_it() {
        let check = |text, expected: &str| assert_eq!(shell_word(text), expected);
        check("/var/lib/kinora", "/var/lib/kinora");
        check("/srv/my data", "'/srv/my data'");
        check("/srv/$HOME", "'/srv/$HOME'");
        check("it's", r"'it'\''s'");
        check("", "''");
    }
}
