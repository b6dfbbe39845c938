//! The `Idempotency-Key` header (draft-ietf-httpapi-idempotency-key-header, 2).

use axum::http::{HeaderMap, HeaderName};

use crate::error::ApiError;

pub(super) const HEADER: HeaderName = HeaderName::from_static("idempotency-key");
/// The spelling in error messages.
const NAME: &str = "Idempotency-Key";
/// Longest key, in characters. D-0070.
pub const LEN_MAX: usize = 255;

/// The key: a quoted string as in the draft (RFC 9651, 3.3.3), or bare as most clients send it. Both forms
/// are the same key.
pub(super) fn parse(headers: &HeaderMap) -> Result<String, ApiError> {
    let rejection = |must: String| ApiError::invalid_field(NAME, must);
    let mut values = headers.get_all(HEADER).iter();
    let (value, second) = (values.next(), values.next());
    let text = value.filter(|_| second.is_none()).and_then(|value| value.to_str().ok());
    let text = text
        .ok_or_else(|| rejection("must be sent once and have only visible ASCII characters".into()))?
        .trim();
    let key = match text.strip_prefix('"') {
        Some(rest) => {
            unquote(rest).ok_or_else(|| rejection("must end with a quote if it begins with one".into()))?
        }
        None => text.to_owned(),
    };
    if key.is_empty() || key.len() > LEN_MAX {
        return Err(rejection(format!("must have 1 to {LEN_MAX} characters, such as a UUID")));
    }
    Ok(key)
}

/// The text between the quotes; `None` unless the closing quote ends the text.
fn unquote(rest: &str) -> Option<String> {
    let mut key = String::with_capacity(rest.len());
    let mut chars = rest.chars();
    loop {
        match chars.next()? {
            '"' => return chars.next().is_none().then_some(key),
            '\\' => key.push(chars.next().filter(|next| matches!(next, '"' | '\\'))?),
            other => key.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn read_all(values: &[&str]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(HEADER, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        parse(&headers).map_err(|refused| assert_eq!(refused.fields(), [NAME])).ok()
    }

    #[test]
    fn idempotency_key_parses_bare_and_quoted() {
        let check = |value: &str, key: Option<&str>| {
            assert_eq!(read_all(&[value]).as_deref(), key, "{value}");
        };
        check("8e03978e-40d5-43dd-bc93-6894a57f9324", Some("8e03978e-40d5-43dd-bc93-6894a57f9324"));
        check("\"8e03978e\"", Some("8e03978e"));
        check(r#""a \"b\" \\ c""#, Some(r#"a "b" \ c"#));
        check("a\"b", Some("a\"b"));
        check("  a ", Some("a"));
        for refused in ["", " ", "\"\"", "\"a", "\"a\"b", "\"a\";p=1", r#""\a""#, "ä"] {
            check(refused, None);
        }
        assert_eq!(read_all(&["a", "a"]), None);
    }

    #[test]
    fn idempotency_key_has_1_to_255_characters() {
        let (one, most, over) = ("a".to_owned(), "a".repeat(255), "a".repeat(256));
        assert_eq!(read_all(&[&one]), Some(one));
        assert_eq!(read_all(&[&format!("\"{most}\"")]), Some(most.clone()));
        assert_eq!(read_all(&[&most]), Some(most));
        assert_eq!(read_all(&[&over]), None);
        assert_eq!(read_all(&[&format!("\"{over}\"")]), None);
    }
}
