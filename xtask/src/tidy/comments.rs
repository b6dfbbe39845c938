//! The comments of a source file, told apart from its code and its strings, and their width.
//!
//! A line scan that knows the comments and strings of each language, not its syntax. In Python, a string
//! between triple quotes is a comment (docstring) if it begins the file or follows a line that ends with
//! `:`. Shell, TOML and make are read line by line: a string with several lines is not recognised there.
//! `///` and `//!` are comments too.

use super::Finding;

/// Columns of a line that has a comment, the indentation included.
const COLUMNS_MAX: usize = 110;

/// One line of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// Code without comments; a string is `""`.
    pub(super) code: String,
    /// All comments of the line, with their markers. Empty if there is none.
    pub(super) comment: String,
}

/// The form of comments and strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Syntax {
    Css,
    /// Shell, TOML and make.
    Hash,
    JavaScript,
    Python,
    Rust,
}

/// Where a scan is.
enum State {
    Code,
    /// In `/* … */`, with the depth.
    Block(usize),
    Text(Text),
}

/// A string, a character, or a regular expression of JavaScript.
struct Text {
    end: String,
    has_escapes: bool,
    /// Whether it may go on in the next line.
    is_multi_line: bool,
    is_docstring: bool,
}

/// The lines of a file; none if its language is unknown.
pub(super) fn lines(path: &str, text: &str) -> Vec<Line> {
    let Some(syntax) = Syntax::of(path) else { return Vec::new() };
    let mut state = State::Code;
    let mut lines: Vec<Line> = Vec::new();
    for text in text.lines() {
        let last_code = lines.iter().rev().map(|line| line.code.trim_end()).find(|code| !code.is_empty());
        let begins_body = last_code.is_none_or(|code| code.ends_with(':'));
        let line = syntax.scan(text, begins_body, &mut state);
        lines.push(line);
    }
    lines
}

/// A finding for each line that is too wide and has a comment. Rows of a table in a doc comment, and lines
/// with one address and no other word, are exempt.
pub(super) fn check(path: &str, text: &str) -> Vec<Finding> {
    let is_wide = |(_, (line, text)): &(usize, (Line, &str))| {
        !line.comment.is_empty() && COLUMNS_MAX < text.chars().count() && !is_exempt(text)
    };
    let wide = (1..).zip(lines(path, text).into_iter().zip(text.lines())).filter(is_wide);
    let problem = "a comment ends before column 110: wrap it, or move it to a line above";
    wide.map(|(number, _)| Finding::new(format!("{path}:{number}"), problem)).collect()
}

fn is_exempt(text: &str) -> bool {
    let comment = text.trim();
    let is_row = comment.starts_with("//! |") || comment.starts_with("/// |");
    let mut words = comment.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric));
    let is_address = words.next().is_some_and(|word| word.contains("://")) && words.next().is_none();
    is_row || is_address
}

impl Syntax {
    fn of(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        match name.rsplit_once('.').map_or(name, |(_, ending)| ending) {
            "rs" => Some(Self::Rust),
            "js" | "mjs" | "ts" | "tsx" => Some(Self::JavaScript),
            "css" => Some(Self::Css),
            "py" => Some(Self::Python),
            "sh" | "toml" | "Makefile" => Some(Self::Hash),
            _ => None,
        }
    }

    /// Scans one line. A docstring can begin only in a line that begins a body.
    fn scan(self, text: &str, begins_body: bool, state: &mut State) -> Line {
        let mut line = Line::default();
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let mut len = c.len_utf8();
            match state {
                State::Block(depth) => {
                    if rest.starts_with("*/") {
                        *depth -= 1;
                        len = 2;
                    } else if self == Self::Rust && rest.starts_with("/*") {
                        *depth += 1;
                        len = 2;
                    }
                    line.comment.push_str(&rest[..len]);
                    if *depth == 0 {
                        *state = State::Code;
                    }
                }
                State::Text(inside) => {
                    let is_end = rest.starts_with(&inside.end);
                    if inside.has_escapes && c == '\\' {
                        len += rest[1..].chars().next().map_or(0, char::len_utf8);
                    } else if is_end {
                        len = inside.end.len();
                    }
                    if inside.is_docstring {
                        line.comment.push_str(&rest[..len]);
                    }
                    if is_end {
                        line.code.push('"');
                        *state = State::Code;
                    }
                }
                State::Code => {
                    if self.starts_comment(rest, &line.code) {
                        line.comment.push_str(rest);
                        break;
                    }
                    if self.has_blocks() && rest.starts_with("/*") {
                        len = 2;
                        line.comment.push_str("/*");
                        *state = State::Block(1);
                    } else if let Some((begin, mut inside)) = self.opening(rest, &line.code) {
                        len = begin;
                        inside.is_docstring &= begins_body;
                        if inside.is_docstring {
                            line.comment.push_str(&rest[..len]);
                        }
                        line.code.push('"');
                        *state = State::Text(inside);
                    } else {
                        line.code.push(c);
                    }
                }
            }
            rest = &rest[len..];
        }
        if matches!(state, State::Text(inside) if !inside.is_multi_line) {
            *state = State::Code;
        }
        line
    }

    fn has_blocks(self) -> bool {
        matches!(self, Self::Css | Self::JavaScript | Self::Rust)
    }

    /// Whether the rest of a line is a comment. In JavaScript, `//` after `:` or `\` is part of an address or
    /// a regular expression.
    fn starts_comment(self, rest: &str, before: &str) -> bool {
        match self {
            Self::Css => false,
            Self::Hash => rest.starts_with('#') && before.chars().last().is_none_or(char::is_whitespace),
            Self::JavaScript => rest.starts_with("//") && !before.ends_with([':', '\\']),
            Self::Python => rest.starts_with('#'),
            Self::Rust => rest.starts_with("//"),
        }
    }

    /// The length of the marker with which a string begins here, and the string.
    fn opening(self, rest: &str, before: &str) -> Option<(usize, Text)> {
        let text = |end: &str, is_multi_line: bool| Text {
            end: end.to_owned(),
            has_escapes: true,
            is_multi_line,
            is_docstring: false,
        };
        let c = rest.chars().next()?;
        match self {
            Self::Rust => match c {
                '"' => Some((1, text("\"", true))),
                'r' if !before.ends_with(is_word_without_prefix) => {
                    let hashes = rest[1..].bytes().take_while(|byte| *byte == b'#').count();
                    let end = format!("\"{}", "#".repeat(hashes));
                    let is_raw = rest[1 + hashes..].starts_with('"');
                    is_raw.then(|| (hashes + 2, Text { has_escapes: false, ..text(&end, true) }))
                }
                '\'' => {
                    let mut after = rest[1..].chars();
                    let is_char = after.next() == Some('\\') || after.next() == Some('\'');
                    is_char.then(|| (1, text("'", false)))
                }
                _ => None,
            },
            Self::Python => {
                let triple = ["\"\"\"", "'''"].into_iter().find(|quotes| rest.starts_with(quotes));
                let is_docstring = before.trim().is_empty();
                triple
                    .map(|quotes| (3, Text { is_docstring, ..text(quotes, true) }))
                    .or_else(|| matches!(c, '"' | '\'').then(|| (1, text(&rest[..1], false))))
            }
            Self::JavaScript => match c {
                '"' | '\'' => Some((1, text(&rest[..1], false))),
                '`' => Some((1, text("`", true))),
                '/' => {
                    let before = before.trim_end();
                    let is_regex = before.ends_with(['(', ',', '=', ':', '[', '!', '&', '|', '?', '{', ';'])
                        || before.ends_with("return");
                    is_regex.then(|| (1, text("/", false)))
                }
                _ => None,
            },
            Self::Css | Self::Hash => matches!(c, '"' | '\'').then(|| (1, text(&rest[..1], false))),
        }
    }
}

/// Whether `r"` after this character is the end of an identifier. `b` and `c` may precede it: `br"`.
fn is_word_without_prefix(c: char) -> bool {
    (c.is_alphanumeric() && !matches!(c, 'b' | 'c')) || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_comments(path: &str, text: &str, expected: &[&str]) {
        let found: Vec<String> = lines(path, text).into_iter().map(|line| line.comment).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn rust_strings_and_characters_are_no_comments() {
        check_comments("a.rs", "let a = \"// no \\\" // no\"; // yes", &["// yes"]);
        check_comments("a.rs", "let a = r#\"\" // no\"#; br\"\\\"; // yes", &["// yes"]);
        check_comments("a.rs", "f('\"', '\\'', \"'\", &'a b); // yes", &["// yes"]);
        check_comments("a.rs", "let a = \"one\n  // no\n\"; // yes", &["", "", "// yes"]);
        check_comments("a.rs", "/* a\n/* b */ c\n*/ let d;", &["/* a", "/* b */ c", "*/"]);
        assert_eq!(lines("a.rs", "let a = \"b\"; // c")[0].code, "let a = \"\"; ");
    }

    #[test]
    fn comments_of_each_language_are_found() {
        check_comments("a.ts", "f(`a\n// no`); // yes", &["", "// yes"]);
        check_comments("a.mjs", "get('//no', https://no, /\"/g, /a\\//); // yes", &["// yes"]);
        check_comments("a.tsx", "{/* yes */} don't\n/**\n * b */", &["/* yes */", "/**", " * b */"]);
        check_comments("a.css", "a { b: \"/*\"; } /* yes */", &["/* yes */"]);
        check_comments(
            "a.py",
            "\"\"\"Yes.\n\nB.\"\"\"\na = '#' # yes",
            &["\"\"\"Yes.", "", "B.\"\"\"", "# yes"],
        );
        check_comments("a.py", "a = (\n\"\"\"no\"\"\")\ndef f():\n  '''yes'''", &["", "", "", "'''yes'''"]);
        check_comments("a.py", "sql = \"\"\"\n# no\n\"\"\"", &["", "", ""]);
        check_comments("a.sh", "echo \"# no\" $# ${a#b} # yes", &["# yes"]);
        check_comments("a.toml", "a = '#' # yes", &["# yes"]);
        check_comments("Makefile", "run: web ## It's\n\tcmd", &["## It's", ""]);
        check_comments("a.json", "// no", &[]);
    }

    /// Checks one line of a file and returns the number of findings.
    fn findings(path: &str, line: &str) -> usize {
        check(path, line).len()
    }

    #[test]
    fn wide_comment_is_found_in_every_language() {
        let words = |columns: usize| format!("a {}", "x".repeat(columns - 2));
        for path in ["a.rs", "a.ts", "a.tsx", "a.mjs", "a.js"] {
            assert_eq!(findings(path, &format!("    // {}", words(103))), 0, "{path}");
            assert_eq!(findings(path, &format!("    // {}", words(104))), 1, "{path}");
        }
        for path in ["a.py", "a.sh", "a.toml", "Makefile"] {
            assert_eq!(findings(path, &format!("    # {}", words(104))), 0, "{path}");
            assert_eq!(findings(path, &format!("    # {}", words(105))), 1, "{path}");
        }
        assert_eq!(findings("a.css", &format!("/* {} */", words(105))), 1);
        assert_eq!(findings("a.rs", &format!("let a = \"{}\"; // why", words(90))), 0);
        assert_eq!(findings("a.rs", &format!("let a = \"{}\"; // why", words(110))), 1);
        assert_eq!(findings("a.rs", &format!("let a = \"// {}\";", words(110))), 0);
    }

    #[test]
    fn only_rows_and_addresses_may_be_wide() {
        let wide = "x".repeat(110);
        assert_eq!(findings("a.rs", &format!("//! | `a.rs` | {wide} |")), 0);
        assert_eq!(findings("a.rs", &format!("    /// | `a.rs` | {wide} |")), 0);
        assert_eq!(findings("a.rs", &format!("// <https://example.com/{wide}>")), 0);
        assert_eq!(findings("a.sh", &format!("# https://example.com/{wide}")), 0);
        assert_eq!(findings("a.rs", &format!("// a | {wide}")), 1);
        assert_eq!(findings("a.rs", &format!("///   item {wide}")), 1);
        assert_eq!(findings("a.rs", &format!("// See https://example.com/{wide}")), 1);
    }
}
