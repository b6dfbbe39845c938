//! The words of this project: one word, one meaning, and the field's word where there is one.
//!
//! [`PROSE`] holds for comments and documents, [`NAMES`] for what Rust code defines: items, fields, enum
//! variants, parameters, and the variables of `let` and `for`. Not covered are the parameters of closures
//! without a type, the patterns of `match`, and names in other languages. Stored and public names are
//! strings and stay.

use super::{Finding, comments};

/// A word or phrase that must not be written, and the words to choose from instead.
type Entry = (&'static str, &'static str);

/// Words of comments and documents. Text between backticks is code and is not read.
const PROSE: [Entry; 23] = [
    ("anybody", "the role: the viewer, the client, the caller"),
    ("asker", "client, viewer"),
    ("comes to nothing", "has no effect"),
    ("everybody", "the role: all viewers, all clients"),
    ("is told", "is notified, receives"),
    ("leftover", "orphan"),
    ("leftovers", "orphans"),
    ("let go", "released, evicted"),
    ("nobody", "the role: no viewer, no client"),
    ("of which", "two sentences"),
    ("of whom", "two sentences"),
    ("patience", "timeout, backoff"),
    ("patiently", "with a timeout"),
    ("picture", "thumbnail, image, video, frame (decoded), sample (coded)"),
    ("pictures", "thumbnails, images, video, frames (decoded), samples (coded)"),
    ("somebody", "the role: a viewer, a client"),
    ("sound", "audio; valid"),
    ("sounds", "audio tracks"),
    ("whatever", "any"),
    ("whichever", "any, the first"),
    ("whoever", "the role: the viewer, the client, the caller"),
    ("wish", "setting"),
    ("wishes", "settings"),
];

/// Terms of codec standards that contain a word of the list.
const TERMS: [&str; 13] = [
    "coded picture",
    "coded pictures",
    "group of pictures",
    "groups of pictures",
    "leading picture",
    "leading pictures",
    "picture order",
    "picture parameter",
    "picture timing",
    "reference picture",
    "reference pictures",
    "sound sample description",
    "sound sample descriptions",
];

/// Words of names.
const NAMES: [Entry; 19] = [
    ("anybody", "the role"),
    ("asker", "client, viewer"),
    ("everybody", "the role"),
    ("leftover", "orphan"),
    ("leftovers", "orphans"),
    ("nobody", "the role"),
    ("patience", "timeout, backoff"),
    ("patient", "with_timeout"),
    ("picture", "thumbnail, image, video, frame (decoded), sample (coded)"),
    ("pictures", "thumbnails, images, video, frames (decoded), samples (coded)"),
    ("somebody", "the role"),
    ("sound", "audio; valid"),
    ("sounds", "audio"),
    ("sought", "requested, expected"),
    ("stay", "session, playback session"),
    ("told", "notified, reported, emitted"),
    ("whoever", "the role"),
    ("wish", "setting"),
    ("wishes", "settings"),
];

/// Keywords that come before a name that is defined.
const DEFINITIONS: [&str; 8] = ["fn", "struct", "enum", "trait", "type", "const", "static", "mod"];
/// Keywords that may come between one of [`DEFINITIONS`] and the name: `const unsafe fn`, `static mut`.
const QUALIFIERS: [&str; 6] = ["fn", "unsafe", "async", "extern", "mut", "ref"];

/// A finding for each word of the lists in a source file or a Markdown document.
pub(super) fn check(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut check_words = |number: usize, words: &str, list: &[Entry]| {
        for (word, instead) in list.iter().filter(|(word, _)| words.contains(&format!(" {word} "))) {
            let problem = format!("\"{word}\" is not a word of this project: write {instead}");
            findings.push(Finding::new(format!("{path}:{number}"), problem));
        }
    };
    if path.ends_with(".md") {
        let mut is_code = false;
        for (number, line) in (1..).zip(text.lines()) {
            is_code ^= line.trim_start().starts_with("```");
            if !is_code {
                check_words(number, &prose_of(line), &PROSE);
            }
        }
    }
    let lines = comments::lines(path, text);
    let variants = if path.ends_with(".rs") { variants(&lines) } else { Vec::new() };
    for (index, line) in lines.iter().enumerate() {
        check_words(index + 1, &prose_of(&line.comment), &PROSE);
        if path.ends_with(".rs") {
            let is_variant = variants.contains(&index);
            let names = defined_names(&line.code, is_variant);
            let words: String = names.into_iter().map(words_of_name).collect();
            check_words(index + 1, &words, &NAMES);
        }
    }
    findings
}

/// The words of a line in lower case, each between spaces, without code between backticks and without the
/// targets of links.
fn prose_of(line: &str) -> String {
    let prose = line.split('`').step_by(2).collect::<Vec<_>>().join(" code ");
    let mut parts = prose.split("](");
    let first = parts.next().unwrap_or_default().to_owned();
    let prose =
        parts.fold(first, |text, part| text + " " + part.split_once(')').map_or("", |(_, rest)| rest));
    without_terms(between_spaces(prose.split(|c: char| !c.is_alphanumeric())))
}

/// The names that a line of Rust defines, without comments and strings: items, fields and parameters
/// (`name:`), and the variables of `let` and `for`. A line with a variant of an enum begins with its name.
fn defined_names(code: &str, is_variant: bool) -> Vec<&str> {
    let tokens = tokens(code);
    let is_name = |token: &str| token.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let mut names = Vec::new();
    let mut is_pattern = false;
    for (index, token) in tokens.iter().enumerate() {
        let before = index.checked_sub(1).map_or("", |before| tokens[before]);
        let after = tokens.get(index + 1).copied().unwrap_or_default();
        is_pattern = match *token {
            "let" | "for" => true,
            "=" | ":" | "in" | "else" | ";" => false,
            _ => is_pattern,
        };
        let is_definition = DEFINITIONS.contains(&before) && !QUALIFIERS.contains(token);
        let is_static =
            before == "mut" && index.checked_sub(2).is_some_and(|first| tokens[first] == "static");
        let is_typed = after == ":";
        let is_variable = is_pattern && token.starts_with(|c: char| c.is_lowercase());
        let is_first = is_variant && index == 0;
        if is_name(token) && (is_definition || is_static || is_typed || is_variable || is_first) {
            names.push(*token);
        }
    }
    names
}

/// The words and signs of a line; `::` is one sign.
fn tokens(code: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut tokens = Vec::new();
    let mut rest = code.trim_start();
    while let Some(c) = rest.chars().next() {
        let len = if is_word(c) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            c.len_utf8()
        };
        tokens.push(&rest[..len]);
        rest = rest[len..].trim_start();
    }
    tokens
}

/// The indexes of the lines that begin with a variant: one level deeper than a line with `enum`, up to the
/// line that closes it.
fn variants(lines: &[comments::Line]) -> Vec<usize> {
    let indent = |code: &str| code.len() - code.trim_start().len();
    let mut variants = Vec::new();
    let mut enum_indent = None;
    for (index, line) in lines.iter().enumerate() {
        let code = line.code.trim_end();
        if code.is_empty() {
            continue;
        }
        match enum_indent {
            Some(level) if indent(code) <= level => enum_indent = None,
            Some(level) if indent(code) == level + 4 => variants.push(index),
            None if code.ends_with('{') && tokens(code).contains(&"enum") => enum_indent = Some(indent(code)),
            _ => {}
        }
    }
    variants
}

/// `an_odd_name`, `AnOddName` and `AN_ODD_NAME` as ` an odd name `.
fn words_of_name(name: &str) -> String {
    let mut words = String::new();
    let mut before_is_lower = false;
    for c in name.chars() {
        if c.is_uppercase() && before_is_lower {
            words.push('_');
        }
        before_is_lower = c.is_lowercase();
        words.push(c);
    }
    without_terms(between_spaces(words.split('_')))
}

fn without_terms(words: String) -> String {
    TERMS.iter().fold(words, |words, term| words.replace(&format!(" {term} "), " "))
}

fn between_spaces<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let words: Vec<String> = words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
    format!(" {} ", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The places of the findings of a text.
    fn locations(path: &str, text: &str) -> Vec<String> {
        check(path, text).into_iter().map(|finding| finding.location).collect()
    }

    // The words are put together so that this file does not break its own rule.
    const WORD: &str = concat!("Who", "ever");
    const PHRASE: &str = concat!("is ", "told");

    #[test]
    fn word_in_comment_is_found_with_its_replacement() {
        let instead = "write the role: the viewer, the client, the caller";
        let problem = format!("\"{}\" is not a word of this project: {instead}", WORD.to_lowercase());
        let text = format!("//! A head.\nfn f() {{}}\n    // {WORD} plays.\n");
        assert_eq!(check("crates/a/src/b.rs", &text), [Finding::new("crates/a/src/b.rs:3", problem)]);
    }

    #[test]
    fn phrase_in_document_is_found_outside_code() {
        let text = format!(
            "The client {PHRASE}.\n```sh\n# {PHRASE}\n```\n`{PHRASE}` is [code](no-{PHRASE}.md).\nShe {PHRASE}\n"
        );
        assert_eq!(locations("docs/a.md", &text), ["docs/a.md:1", "docs/a.md:6"]);
    }

    #[test]
    fn codec_term_is_valid() {
        assert_eq!(locations("docs/a.md", "A group of pictures (GOP) has leading pictures.\n"), [""; 0]);
        assert_eq!(
            locations("docs/a.md", concat!("A group of pictures has a pic", "ture.\n")),
            ["docs/a.md:1"]
        );
    }

    #[test]
    fn word_inside_another_word_is_valid() {
        assert_eq!(locations("docs/a.md", "wishlist, soundtrack, unsound\n"), [""; 0]);
    }

    #[test]
    fn word_in_trailing_comment_is_found_outside_strings() {
        let text = format!("let x = 1; // {WORD} reads it\nlet url = \"https://{WORD}\"; // fine\n");
        assert_eq!(locations("a.rs", &text), ["a.rs:1"]);
    }

    #[test]
    fn word_in_comment_of_every_language_is_found() {
        for path in ["a.ts", "a.tsx", "a.mjs", "a.js"] {
            assert_eq!(locations(path, &format!("let a = '{WORD}';\n// {WORD}\n")), [format!("{path}:2")]);
        }
        for path in ["a.py", "a.sh", "a.toml", "Makefile"] {
            assert_eq!(locations(path, &format!("a = '{WORD}'\n# {WORD}\n")), [format!("{path}:2")]);
        }
        assert_eq!(locations("a.css", &format!("a {{}}\n/*\n * {WORD} */\n")), ["a.css:3"]);
        assert_eq!(locations("a.snap", &format!("# {WORD}\n")), [""; 0]);
    }

    /// The numbers of the lines of Rust with a finding.
    fn name_findings(lines: &[String]) -> Vec<String> {
        let places = locations("a.rs", &lines.join("\n"));
        places.iter().map(|place| place["a.rs:".len()..].to_owned()).collect()
    }

    #[test]
    fn word_in_defined_name_is_found_in_every_case() {
        let (snake, camel) = (WORD.to_lowercase(), WORD);
        let lines = [
            format!("pub(crate) async fn of_{snake}(a: u8) {{}}"),
            format!("struct {camel}Here;"),
            format!("    const {}: u8 = 1;", snake.to_uppercase()),
            format!("let a = call_{snake}();"),
            format!("let text = \"{snake}\";"),
        ];
        assert_eq!(name_findings(&lines), ["1", "2", "3"]);
        assert_eq!(locations("a.py", &lines.join("\n")), [""; 0]);
    }

    #[test]
    fn word_in_name_after_any_qualifiers_is_found() {
        let word = WORD.to_lowercase();
        let qualifiers = [
            "pub const fn",
            "pub(in crate::a) fn",
            "extern \"C\" fn",
            "async unsafe fn",
            "pub unsafe extern \"C\" fn",
            "pub(crate) static mut",
            "pub(super) mod",
        ];
        let lines = qualifiers.map(|qualifier| format!("{qualifier} {word}_a() {{"));
        assert_eq!(name_findings(&lines), ["1", "2", "3", "4", "5", "6", "7"]);
    }

    #[test]
    fn word_in_field_variant_parameter_or_variable_is_found() {
        let (snake, camel) = (WORD.to_lowercase(), WORD);
        let lines = [
            format!("    pub(crate) {snake}: u8,"),
            format!("fn f(a: u8, {snake}: u8) {{}}"),
            format!("    let mut {snake} = 1;"),
            format!("    let Some((a, {snake})) = b else {{"),
            format!("    if let Some({snake}) = b {{"),
            format!("    for (a, {snake}) in b {{"),
            "enum A {".to_owned(),
            format!("    {camel}(u8),"),
            format!("    B({camel}),"),
            "}".to_owned(),
            format!("    {camel}(a);"),
            format!("    let a: {camel} = {snake}::b({snake});"),
            format!("impl {camel} for A {{"),
        ];
        assert_eq!(name_findings(&lines), ["1", "2", "3", "4", "5", "6", "8"]);
    }

    #[test]
    fn each_word_of_the_names_is_found() {
        for (word, _) in NAMES {
            assert_eq!(name_findings(&[format!("fn a_{word}() {{}}")]), ["1"], "{word}");
        }
        for word in ["anybody", "wishes", "wish", "sought", "stay"] {
            assert!(NAMES.iter().any(|(name, _)| *name == word), "{word}");
        }
        assert_eq!(name_findings(&["fn stays_besought() {}".to_owned()]), [""; 0]);
    }
}
