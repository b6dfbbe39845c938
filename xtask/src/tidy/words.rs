//! The words of this project: one word, one meaning, and the field's word where there is one.
//!
//! [`PROSE`] holds for comments of Rust and for documents, [`NAMES`] for what Rust code defines. Stored and
//! public names are strings and stay.

use super::Finding;

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
const NAMES: [Entry; 15] = [
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
    ("told", "notified, reported, emitted"),
    ("whoever", "the role"),
    ("wish", "setting"),
];

/// Keywords that come before a name that is defined.
const DEFINITIONS: [&str; 8] = ["fn ", "struct ", "enum ", "trait ", "type ", "const ", "static ", "mod "];

/// A finding for each word of the lists in a Rust file or a Markdown document; other files have none.
pub(super) fn check(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut is_code = false;
    for (number, line) in (1..).zip(text.lines()) {
        let (words, list): (String, &[Entry]) = if path.ends_with(".md") {
            is_code ^= line.trim_start().starts_with("```");
            (if is_code { String::new() } else { prose_of(line) }, &PROSE)
        } else if !path.ends_with(".rs") {
            continue;
        } else if line.trim_start().starts_with("//") {
            (prose_of(line), &PROSE)
        } else {
            (defined_name(line).map(words_of_name).unwrap_or_default(), &NAMES)
        };
        for (word, instead) in list.iter().filter(|(word, _)| words.contains(&format!(" {word} "))) {
            let problem = format!("\"{word}\" is not a word of this project: write {instead}");
            findings.push(Finding::new(format!("{path}:{number}"), problem));
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

/// The name that a line of Rust defines, if it begins with a definition.
fn defined_name(line: &str) -> Option<&str> {
    let mut rest = line.trim_start();
    for qualifier in ["pub ", "pub(crate) ", "pub(super) ", "async ", "unsafe "] {
        rest = rest.strip_prefix(qualifier).unwrap_or(rest);
    }
    let name = DEFINITIONS.iter().find_map(|keyword| rest.strip_prefix(keyword))?;
    name.split(|c: char| !c.is_alphanumeric() && c != '_').next()
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
    fn word_in_defined_name_is_found_in_every_case() {
        let (snake, camel) = (WORD.to_lowercase(), WORD);
        let lines = [
            format!("pub(crate) async fn of_{snake}(a: u8) {{}}"),
            format!("struct {camel}Here;"),
            format!("    const {}: u8 = 1;", snake.to_uppercase()),
            format!("let {snake} = call_{snake}();"),
            format!("let text = \"{snake}\";"),
        ];
        assert_eq!(locations("a.rs", &lines.join("\n")), ["a.rs:1", "a.rs:2", "a.rs:3"]);
        assert_eq!(locations("a.py", &lines.join("\n")), [""; 0]);
    }
}
