//! Pages and their files, embedded in the binary. The build of the web part compresses each text beforehand,
//! as `NAME.br` and `NAME.gz` beside `NAME`.

use std::borrow::Cow;

use axum::http::HeaderMap;

use crate::content_coding::{AcceptedCodings, Coding};

/// Files of the web frontend.
pub trait Assets: Send + Sync {
    /// The file below `web/dist`, or `None`.
    fn get(&self, path: &str) -> Option<Cow<'static, [u8]>>;
}

/// The bytes of a file in one coding.
#[derive(Debug, PartialEq, Eq)]
pub struct CodedFile {
    /// The bytes, in this coding.
    pub bytes: Cow<'static, [u8]>,
    /// The coding; `None`: the bytes as they are.
    pub coding: Option<Coding>,
    /// Whether other clients get another coding, so that `Vary` must name `Accept-Encoding`.
    pub has_codings: bool,
}

/// The file in the coding that the client prefers. `None` without the file. A coding whose file is missing is
/// not offered.
pub fn coded_file(assets: &dyn Assets, path: &str, request: &HeaderMap) -> Option<CodedFile> {
    let coded = |coding: Coding| assets.get(&format!("{path}{}", coding.file_ending()));
    let bytes = assets.get(path)?;
    let available: Vec<Coding> = Coding::ALL.into_iter().filter(|coding| coded(*coding).is_some()).collect();
    let has_codings = !available.is_empty();
    let preferred = AcceptedCodings::of(request).preferred(&available);
    match preferred.and_then(|coding| Some((coding, coded(coding)?))) {
        Some((coding, bytes)) => Some(CodedFile { bytes, coding: Some(coding), has_codings }),
        None => Some(CodedFile { bytes, coding: None, has_codings }),
    }
}

/// Whether the name is that of a compressed copy, which has no address of its own.
pub fn is_compressed_copy(name: &str) -> bool {
    Coding::ALL.iter().any(|coding| name.ends_with(coding.file_ending()))
}

#[cfg(test)]
mod tests {
    use axum::http::header::ACCEPT_ENCODING;

    use super::*;

    struct Files(&'static [&'static str]);

    impl Assets for Files {
        fn get(&self, path: &str) -> Option<Cow<'static, [u8]>> {
            self.0.iter().find(|name| **name == path).map(|name| Cow::Borrowed(name.as_bytes()))
        }
    }

    #[test]
    fn missing_coding_falls_back_to_the_next_one() {
        let check =
            |files: &'static [&'static str], accept: &str, expected: Option<(&str, Option<Coding>, bool)>| {
                let mut headers = HeaderMap::new();
                headers.insert(ACCEPT_ENCODING, accept.parse().unwrap());
                let file = coded_file(&Files(files), "a.js", &headers);
                let file = file
                    .as_ref()
                    .map(|file| (std::str::from_utf8(&file.bytes).unwrap(), file.coding, file.has_codings));
                assert_eq!(file, expected, "{files:?} {accept}");
            };
        let all: &[&str] = &["a.js", "a.js.br", "a.js.gz"];
        check(all, "gzip, br", Some(("a.js.br", Some(Coding::Brotli), true)));
        check(all, "gzip", Some(("a.js.gz", Some(Coding::Gzip), true)));
        check(all, "identity", Some(("a.js", None, true)));
        check(&["a.js", "a.js.gz"], "gzip, br", Some(("a.js.gz", Some(Coding::Gzip), true)));
        check(&["a.js", "a.js.gz"], "br", Some(("a.js", None, true)));
        check(&["a.js"], "gzip, br", Some(("a.js", None, false)));
        check(&["a.js.br"], "br", None);
    }

    #[test]
    fn compressed_copies_are_recognised() {
        assert!(is_compressed_copy("a.js.br") && is_compressed_copy("a.css.gz"));
        assert!(!is_compressed_copy("a.js") && !is_compressed_copy("br") && !is_compressed_copy("a.br.js"));
    }
}
