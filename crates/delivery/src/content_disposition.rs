//! The name under which a browser stores a file: `Content-Disposition` (RFC 6266, C-20).

use std::fmt::Write as _;

use axum::http::{HeaderValue, header};
use axum::response::Response;
use kinora_web::error::{ApiError, FieldError};

/// Longest name in a query, in characters: the limit of file systems, and no less than that of a title
/// (C-119).
const NAME_CHARS_MAX: usize = 255;
/// Longest name that is sent, in bytes: a file system allows 255, and some programs add to it.
const NAME_BYTES_MAX: usize = 240;

/// The download that a query requests: `?download=name` under this name, `?download` or `?download=` under
/// the file's own name.
///
/// The last parameter counts. `None` without one. 422 for a name that is too long.
pub(super) fn download_name(query: &str) -> Result<Option<String>, ApiError> {
    let names = url::form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == "download");
    let Some((_, name)) = names.last() else { return Ok(None) };
    if name.chars().count() > NAME_CHARS_MAX {
        let message = format!("must have at most {NAME_CHARS_MAX} characters");
        return Err(ApiError::invalid(vec![FieldError { field: "download".into(), message }]));
    }
    Ok(Some(name.into_owned()))
}

/// The header for a file with the name `own`; `requested` is the name in the query.
///
/// A name without the file's extension gets it, since the stored file must open. For every requested name,
/// the header has two forms of one plain name.
pub(super) fn header(requested: Option<&str>, own: &str, extension: &str) -> HeaderValue {
    let kind = if requested.is_some() { "attachment" } else { "inline" };
    let sanitized = requested.map(sanitize).filter(|name| !name.is_empty());
    let mut name = sanitized.unwrap_or_else(|| sanitize(own));
    let has_extension = |name: &str| {
        let end = name.rsplit_once('.').map(|(stem, end)| (!stem.is_empty(), end));
        end.is_some_and(|(has_stem, end)| has_stem && end.eq_ignore_ascii_case(extension))
    };
    if !has_extension(&name) {
        name.push('.');
        name.push_str(extension);
    }
    let fallback: String = name.chars().map(|char| if is_quotable(char) { char } else { '_' }).collect();
    let mut text = format!("{kind}; filename=\"{fallback}\"");
    if fallback != name {
        text.push_str("; filename*=UTF-8''");
        for byte in name.bytes() {
            if is_attr_char(byte) {
                text.push(char::from(byte));
            } else {
                let _ = write!(text, "%{byte:02X}");
            }
        }
    }
    HeaderValue::from_str(&text).expect("made of letters, digits and few signs")
}

/// Adds the header to a response that contains bytes of the file, and stops browsers from guessing its type.
pub(super) fn with_disposition(mut response: Response, disposition: HeaderValue) -> Response {
    if response.status().is_success() {
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_DISPOSITION, disposition);
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    }
    response
}

/// The plain name of one file: without a path and invisible characters, and not too long.
fn sanitize(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let shown = last.chars().filter(|char| !char.is_control() && !is_bidi_control(*char));
    let shown: String = shown.collect();
    let mut end = shown.len().min(NAME_BYTES_MAX);
    while !shown.is_char_boundary(end) {
        end -= 1;
    }
    // A leading dot hides a file, a trailing one is lost on some systems.
    shown[..end].trim().trim_matches('.').trim().to_owned()
}

/// Marks that change the direction of writing: `gpj.exe` could be read as an image (Unicode, UAX 9).
fn is_bidi_control(char: char) -> bool {
    matches!(char, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Characters that every browser reads unescaped between quotation marks: no percent sign, no backslash (RFC
/// 6266, appendix D).
fn is_quotable(char: char) -> bool {
    matches!(char, ' '..='~') && !matches!(char, '"' | '\\' | '%' | ';')
}

/// An `attr-char` (RFC 8187, 3.2.1).
fn is_attr_char(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$&+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn download_parameter_sets_file_name() {
        let check = |query: &str, name: Option<&str>| {
            assert_eq!(download_name(query).unwrap().as_deref(), name, "{query}");
        };
        check("", None);
        check("token=x", None);
        check("downloads=x", None);
        check("download", Some(""));
        check("download=", Some(""));
        check("download=My%20film", Some("My film"));
        check("download=a&download=b+c", Some("b c"));
        check("download=%0d%0aX-Y:%201", Some("\r\nX-Y: 1"));
        check("download=%ff", Some("\u{fffd}"));
        let longest = "é".repeat(NAME_CHARS_MAX);
        check(&format!("download={longest}"), Some(&longest));
        let refused = format!("{:?}", download_name(&format!("download={longest}e")).unwrap_err());
        assert!(refused.contains("field: \"download\""), "{refused}");
    }

    #[test]
    fn file_name_is_sanitized_and_encoded_for_rfc_8187() {
        let check = |requested: Option<&str>, own: &str, expected: &str| {
            assert_eq!(header(requested, own, "mp4"), expected, "{requested:?} {own}");
        };
        check(None, "a film.mp4", "inline; filename=\"a film.mp4\"");
        check(Some(""), "a film.mp4", "attachment; filename=\"a film.mp4\"");
        check(Some("b.MP4"), "a.mp4", "attachment; filename=\"b.MP4\"");
        check(Some("b"), "a.mp4", "attachment; filename=\"b.mp4\"");
        check(Some("b.mov"), "a.mp4", "attachment; filename=\"b.mov.mp4\"");
        check(Some(".mp4"), "a.mp4", "attachment; filename=\"mp4.mp4\"");
        check(Some("../../etc/passwd"), "a.mp4", "attachment; filename=\"passwd.mp4\"");
        check(Some("C:\\Windows\\x"), "a.mp4", "attachment; filename=\"x.mp4\"");
        check(Some("..."), "a.mp4", "attachment; filename=\"a.mp4\"");
        check(Some("/"), "a.mp4", "attachment; filename=\"a.mp4\"");
        check(Some("a\r\nSet-Cookie: b=c"), "a.mp4", "attachment; filename=\"aSet-Cookie: b=c.mp4\"");
        check(Some("\u{202e}gpj.exe"), "a.mp4", "attachment; filename=\"gpj.exe.mp4\"");
        check(
            Some("Füße \"5\" %41;x"),
            "a.mp4",
            "attachment; filename=\"F__e _5_ _41_x.mp4\"; filename*=UTF-8''F%C3%BC%C3%9Fe%20%225%22%20%2541%3Bx.mp4",
        );
        check(
            Some("日本"),
            "a.mp4",
            "attachment; filename=\"__.mp4\"; filename*=UTF-8''%E6%97%A5%E6%9C%AC.mp4",
        );
    }

    #[test]
    fn long_file_name_is_truncated_between_characters() {
        let long = header(Some(&"é".repeat(255)), "a.mp4", "mp4");
        let text = long.to_str().unwrap();
        assert!(text.contains(&format!("filename=\"{}.mp4\"", "_".repeat(NAME_BYTES_MAX / 2))), "{text}");
        assert!(text.ends_with("%C3%A9.mp4"), "{text}");
    }
}
