//! Lines of documents: at most [`COLUMNS_MAX`] columns, so that a diff shows which sentence changed.

use super::Finding;

/// Columns of a line of prose. Tables, code and addresses cannot be broken and may be wider.
const COLUMNS_MAX: usize = 120;

/// A finding for each line of prose of a Markdown document that is too wide.
pub(super) fn check(path: &str, text: &str) -> Vec<Finding> {
    let mut is_code = false;
    let mut findings = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        let columns = line.chars().count();
        if !is_code && COLUMNS_MAX < columns && is_prose(line) {
            let problem = format!("has {columns} columns, {COLUMNS_MAX} are allowed: wrap it");
            findings.push(Finding::new(format!("{path}:{number}"), problem));
        }
    }
    findings
}

/// Whether a line is prose: not a row of a table, and without a word that is too long for a line, such as an
/// address.
fn is_prose(line: &str) -> bool {
    let indent = line.chars().take_while(|c| *c == ' ').count();
    let has_long_word = line.split_whitespace().any(|word| COLUMNS_MAX < indent + 2 + word.chars().count());
    !line.starts_with('|') && !has_long_word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_over_the_limit_is_found_with_its_line() {
        let wide = "word ".repeat(24) + "w";
        let text = format!("# Title\n\n{}\n{wide}\n", &wide[1..]);
        let expected = Finding::new("docs/a.md:4", "has 121 columns, 120 are allowed: wrap it");
        assert_eq!(check("docs/a.md", &text), [expected]);
    }

    #[test]
    fn columns_are_characters() {
        assert_eq!(check("a.md", &"ä ".repeat(60)), []);
    }

    #[test]
    fn tables_code_and_addresses_may_be_wide() {
        let wide = "word ".repeat(30);
        let address = format!("See https://example.com/{}", "a".repeat(100));
        assert_eq!(check("a.md", &format!("| {wide} |\n\n```sh\n{wide}\n```\n\n{address}\n")), []);
    }
}
