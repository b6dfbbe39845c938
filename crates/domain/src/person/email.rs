//! Email addresses. Kinora sends no mail: an address is a name to sign in with.

use std::fmt;

use unicode_normalization::UnicodeNormalization as _;

/// The text is not an email address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be an email address such as you@example.com, with at most 254 characters")]
pub struct BadEmail;

/// An email address as it was typed, and the key by which it is found.
///
/// Two addresses with equal keys are the same: upper case and the composition of accents do not matter.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Email {
    text: String,
    key: String,
}

impl Email {
    /// Longest address, in characters (RFC 5321, 4.5.3.1.3: a path of 256, less its brackets).
    pub const CHARS_MAX: usize = 254;
    const CHARS_MIN: usize = 3;

    /// Validates an address and removes spaces around it. It is not tested whether mail arrives there.
    pub fn parse(text: &str) -> Result<Self, BadEmail> {
        let text = text.trim();
        let (local, host) = text.split_once('@').ok_or(BadEmail)?;
        let has_both_sides = !local.is_empty() && !host.is_empty() && !host.contains('@');
        let is_printable = !text.chars().any(|char| char.is_control() || char.is_whitespace());
        let length = text.chars().count();
        if !has_both_sides || !is_printable || !(Self::CHARS_MIN..=Self::CHARS_MAX).contains(&length) {
            return Err(BadEmail);
        }
        // Lower case of a composed character may be decomposed, so it is composed again.
        let lower: String = text.nfc().flat_map(char::to_lowercase).collect();
        Ok(Self { text: text.to_owned(), key: lower.nfc().collect() })
    }

    /// The address as it was typed.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The key by which it is found: NFC, lower case.
    pub fn key(&self) -> &str {
        &self.key
    }
}

impl fmt::Display for Email {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Email {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Email({})", self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_needs_one_at_sign_with_text_on_both_sides() {
        let check = |text: &str, ok: bool| assert_eq!(Email::parse(text).is_ok(), ok, "{text:?}");
        check("a@b", true);
        check("you@example.com", true);
        check("josé@example.com", true);
        check("admin@localhost", true);
        check(&format!("{}@b", "a".repeat(252)), true);
        check(&format!("{}@b", "a".repeat(253)), false);
        for wrong in ["", "@", "a@", "@b", "ab", "a@b@c", "a b@c", "a@b\u{0}", "a\u{a0}b@c", "a\n@b"] {
            check(wrong, false);
        }
    }

    #[test]
    fn key_ignores_case_and_composition() {
        let key = |text: &str| Email::parse(text).map(|email| email.key().to_owned());
        assert_eq!(key("  You@Example.COM "), Ok("you@example.com".to_owned()));
        assert_eq!(key("JOSE\u{301}@x.org"), key("josé@x.org"));
        assert_ne!(key("jose@x.org"), key("josé@x.org"));
        let typed = Email::parse(" You@Example.COM ").map(|email| email.to_string());
        assert_eq!(typed, Ok("You@Example.COM".to_owned()));
    }
}
