//! Lists of entity tags in conditional requests (RFC 9110, 8.8.3 and 13.1; D-0126).

use axum::http::{HeaderMap, HeaderName, HeaderValue};

/// Most tags of a list: a client caches a few versions of one resource.
pub const TAGS_MAX: usize = 32;

/// An entity tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntityTag {
    /// Whether it is weak: its bytes are equivalent, not identical.
    pub is_weak: bool,
    /// With its quotes.
    pub opaque: Vec<u8>,
}

/// The value of `If-Match` or `If-None-Match`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntityTags {
    /// `*`: any representation that exists.
    Any,
    /// One to [`TAGS_MAX`] tags.
    List(Vec<EntityTag>),
}

/// The header is no list of tags, or one of more than [`TAGS_MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidEntityTags;

impl EntityTag {
    /// Weak comparison (RFC 9110, 8.8.3.2) with the tag of a response.
    pub fn matches_weakly(&self, etag: &str) -> bool {
        self.opaque == etag.strip_prefix("W/").unwrap_or(etag).as_bytes()
    }
}

impl EntityTags {
    /// Parses a header; several headers of one name are one list (RFC 9110, 5.3). `None` without one.
    pub fn of(headers: &HeaderMap, name: &HeaderName) -> Result<Option<Self>, InvalidEntityTags> {
        let mut lines = headers.get_all(name).iter().map(HeaderValue::as_bytes);
        let Some(first) = lines.next() else { return Ok(None) };
        let list = lines.fold(first.to_vec(), |list, line| [&list, &b","[..], line].concat());
        parse(&list).map(Some).ok_or(InvalidEntityTags)
    }

    /// The tags; empty for `*`.
    pub fn tags(&self) -> &[EntityTag] {
        match self {
            Self::Any => &[],
            Self::List(tags) => tags,
        }
    }
}

/// Parses a list of tags. A tag may contain a comma.
fn parse(list: &[u8]) -> Option<EntityTags> {
    let list = list.trim_ascii();
    if list == b"*" {
        return Some(EntityTags::Any);
    }
    let mut tags = Vec::new();
    let mut list = skip_commas(list);
    while !list.is_empty() {
        let rest = list.strip_prefix(b"W/");
        let is_weak = rest.is_some();
        let rest = rest.unwrap_or(list);
        let len = rest.strip_prefix(b"\"")?.iter().position(|byte| *byte == b'"')? + 2;
        let (opaque, after_tag) = rest.split_at(len);
        if opaque.iter().any(|byte| *byte <= b' ' || *byte == 0x7f) || tags.len() == TAGS_MAX {
            return None;
        }
        tags.push(EntityTag { is_weak, opaque: opaque.to_vec() });
        list = after_tag.trim_ascii_start();
        if !list.is_empty() && !list.starts_with(b",") {
            return None;
        }
        list = skip_commas(list);
    }
    (!tags.is_empty()).then_some(EntityTags::List(tags))
}

/// The list without the commas at its start: empty elements are skipped (RFC 9110, 5.6.1.2).
fn skip_commas(mut list: &[u8]) -> &[u8] {
    while let Some(next) = list.strip_prefix(b",") {
        list = next.trim_ascii_start();
    }
    list
}

#[cfg(test)]
mod tests {
    use axum::http::header::IF_NONE_MATCH;

    use super::*;

    fn list(tags: &[(bool, &str)]) -> Option<EntityTags> {
        let tag = |(is_weak, opaque): &(bool, &str)| EntityTag {
            is_weak: *is_weak,
            opaque: opaque.as_bytes().to_vec(),
        };
        Some(EntityTags::List(tags.iter().map(tag).collect()))
    }

    #[test]
    fn entity_tag_lists_parse() {
        let check = |text: &str, expected| assert_eq!(parse(text.as_bytes()), expected, "{text}");
        check("*", Some(EntityTags::Any));
        check(" * ", Some(EntityTags::Any));
        check("\"a\"", list(&[(false, "\"a\"")]));
        check("\"a\", W/\"b,c\" ,\"\"", list(&[(false, "\"a\""), (true, "\"b,c\""), (false, "\"\"")]));
        check(",\"a\",, ,\"b\",", list(&[(false, "\"a\""), (false, "\"b\"")]));
        let full = vec!["\"a\""; TAGS_MAX].join(", ");
        check(&full, list(&[(false, "\"a\""); TAGS_MAX]));
        check(&format!("{full}, \"a\""), None);
        for none in ["", "a", "\"a", "a\"", "*, \"a\"", "\"a\" \"b\"", "w/\"a\"", "W/a", "\"a b\"", ","] {
            check(none, None);
        }
    }

    #[test]
    fn header_lines_of_one_name_are_one_list() {
        let read = |lines: &[&[u8]]| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(IF_NONE_MATCH, HeaderValue::from_bytes(line).unwrap());
            }
            EntityTags::of(&headers, &IF_NONE_MATCH)
        };
        assert_eq!(read(&[]), Ok(None));
        assert_eq!(read(&[b"\"a\"", b"W/\"b\""]), Ok(list(&[(false, "\"a\""), (true, "\"b\"")])));
        assert_eq!(read(&[b"\"a\"", b"*"]), Err(InvalidEntityTags));
        assert_eq!(read(&[b"\"\xff\""]).unwrap().unwrap().tags()[0].opaque, b"\"\xff\"");
        assert_eq!(read(&[b""]), Err(InvalidEntityTags));
    }
}
