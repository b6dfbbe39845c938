//! Names that people give: of themselves, of access tokens and of the organisation.

/// Longest name, in characters. Our own limit.
pub(crate) const MAX: usize = 80;

/// Validates a name and removes spaces around it. The error is a sentence for the client.
pub(crate) fn parse(text: &str) -> Result<String, &'static str> {
    let name = text.trim();
    if name.is_empty() {
        Err("must not be empty")
    } else if name.chars().count() > MAX {
        Err("must have at most 80 characters")
    } else if name.chars().any(char::is_control) {
        Err("must not contain control characters")
    } else {
        Ok(name.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_has_1_to_80_characters_without_control() {
        let check = |text: &str, expected: Result<&str, &'static str>| {
            assert_eq!(parse(text).as_deref().map_err(|why| *why), expected, "{text:?}");
        };
        check(" Ada Lovelace\n", Ok("Ada Lovelace"));
        check("李", Ok("李"));
        check(&"é".repeat(80), Ok(&"é".repeat(80)));
        check(&"é".repeat(81), Err("must have at most 80 characters"));
        check("  ", Err("must not be empty"));
        check("a\u{0}b", Err("must not contain control characters"));
    }
}
