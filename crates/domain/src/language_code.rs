//! Language tags of added tracks (C-159).

/// Longest language tag, in characters. RFC 5646, 4.4.1.
pub const LANGUAGE_CODE_MAX: usize = 35;

/// Whether a text has the form of a BCP 47 tag (C-159): `en`, `pt-BR`, `zh-Hant-TW`. The registry is not
/// consulted.
///
/// The first subtag must have two or three letters. RFC 5646, 2.2.1 allows longer ones, but none was
/// ever registered; a text such as `English` is a mistake.
pub fn is_language_code(text: &str) -> bool {
    let mut subtags = text.split('-');
    let is_language = |primary: &str| {
        (2..=3).contains(&primary.len()) && primary.bytes().all(|byte| byte.is_ascii_alphabetic())
    };
    let is_subtag = |subtag: &str| {
        (1..=8).contains(&subtag.len()) && subtag.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    text.len() <= LANGUAGE_CODE_MAX && subtags.next().is_some_and(is_language) && subtags.all(is_subtag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn language_code_is_a_bcp_47_tag() {
        for code in ["en", "deu", "pt-BR", "zh-Hant-TW", "es-419", "und", "de-CH-1996"] {
            assert!(is_language_code(code), "{code}");
        }
        let long = "en-".to_owned() + &"a-".repeat(16) + "b";
        for code in ["", "e", "en_US", "en-", "-en", "12", "en-toolongtag", "English", "é", "en US", &long] {
            assert!(!is_language_code(code), "{code}");
        }
    }
}
