//! Under which name a browser keeps a file: `Content-Disposition` (RFC 6266, C-20).

use std::fmt::Write as _;

use axum::http::{HeaderValue, header};
use axum::response::Response;
use kinora_web::error::{ApiError, FieldError};

/// Longest name that can be asked for, in characters: what file systems hold, and no less than a title may
/// have (C-119).
const NAME_CHARS_MAX: usize = 255;
/// Bytes of the longest name that is sent: a file system holds 255 of them, and some programs add to it.
const NAME_BYTES_MAX: usize = 240;

/// What a query asks for: `?download=name` for a file to be kept under this name, `?download` or `?download=`
/// under its own.
///
/// The last one counts. `None` where nothing is said. 422 for a name that is too long.
pub(super) fn wanted(query: &str) -> Result<Option<String>, ApiError> {
    let names = url::form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == "download");
    let Some((_, name)) = names.last() else { return Ok(None) };
    if name.chars().count() > NAME_CHARS_MAX {
        let message = format!("must have at most {NAME_CHARS_MAX} characters");
        return Err(ApiError::invalid(vec![FieldError { field: "download".into(), message }]));
    }
    Ok(Some(name.into_owned()))
}

/// The header for a file that is called `own`, of which `wanted` was said.
///
/// A name without the file's extension gets it: what is kept must open. Whatever was asked for, the header
/// has two forms of one plain name.
pub(super) fn header(wanted: Option<&str>, own: &str, extension: &str) -> HeaderValue {
    let kind = if wanted.is_some() { "attachment" } else { "inline" };
    let asked = wanted.map(plain).filter(|name| !name.is_empty());
    let mut name = asked.unwrap_or_else(|| plain(own));
    let has_extension = |name: &str| {
        let end = name.rsplit_once('.').map(|(stem, end)| (!stem.is_empty(), end));
        end.is_some_and(|(has_stem, end)| has_stem && end.eq_ignore_ascii_case(extension))
    };
    if !has_extension(&name) {
        name.push('.');
        name.push_str(extension);
    }
    let fallback: String = name.chars().map(|char| if is_simple(char) { char } else { '_' }).collect();
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

/// The answer with this header, where it holds bytes of the file; browsers are told to take its type for what
/// it is.
pub(super) fn on(mut response: Response, disposition: HeaderValue) -> Response {
    if response.status().is_success() {
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_DISPOSITION, disposition);
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    }
    response
}

/// A name of one file: no path, nothing that is not shown, not too long.
fn plain(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let shown = last.chars().filter(|char| !char.is_control() && !is_turning(*char));
    let shown: String = shown.collect();
    let mut end = shown.len().min(NAME_BYTES_MAX);
    while !shown.is_char_boundary(end) {
        end -= 1;
    }
    // A dot in front hides a file, one behind it is lost on some systems.
    shown[..end].trim().trim_matches('.').trim().to_owned()
}

/// Marks that change the direction of writing: `gpj.exe` could be read as a picture. Unicode, UAX 9.
fn is_turning(char: char) -> bool {
    matches!(char, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// What stands between quotation marks as it is, in every browser. RFC 6266, appendix D: no percent sign, no
/// backslash.
fn is_simple(char: char) -> bool {
    matches!(char, ' '..='~') && !matches!(char, '"' | '\\' | '%' | ';')
}

/// RFC 8187, 3.2.1.
fn is_attr_char(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$&+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_says_whether_and_as_what_a_file_is_kept() {
        let check = |query: &str, name: Option<&str>| {
            assert_eq!(wanted(query).unwrap().as_deref(), name, "{query}");
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
        let refused = format!("{:?}", wanted(&format!("download={longest}e")).unwrap_err());
        assert!(refused.contains("field: \"download\""), "{refused}");
    }

    #[test]
    fn a_name_is_one_plain_file_name_in_two_forms() {
        let check = |wanted: Option<&str>, own: &str, expected: &str| {
            assert_eq!(header(wanted, own, "mp4"), expected, "{wanted:?} {own}");
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
    fn a_long_name_is_cut_between_letters() {
        let long = header(Some(&"é".repeat(255)), "a.mp4", "mp4");
        let text = long.to_str().unwrap();
        assert!(text.contains(&format!("filename=\"{}.mp4\"", "_".repeat(NAME_BYTES_MAX / 2))), "{text}");
        assert!(text.ends_with("%C3%A9.mp4"), "{text}");
    }
}
