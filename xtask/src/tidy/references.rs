//! References resolve: `C-13` is a rule of `docs/contract.md`, `M-7` one of `docs/media.md`, `D-0042` a
//! decision. The numbers that rules had before (decision and a number, section of the design, Pipeline and a
//! number) are not used.

use std::collections::BTreeSet;

use super::{Finding, decisions};

/// The references that exist.
pub(super) struct KnownReferences(BTreeSet<String>);

impl KnownReferences {
    /// Collects the headings of both documents, `### C-13`, and the numbers of decisions.
    pub(super) fn of(documents: &[String], decisions: &[(String, String)]) -> Self {
        let headings = documents.iter().flat_map(|text| text.lines());
        let rules = headings.filter_map(|line| line.strip_prefix("### ")).map(str::to_owned);
        let decisions = decisions::numbers(decisions).map(|number| format!("D-{number}"));
        Self(rules.chain(decisions).collect())
    }

    /// A finding for each reference of a text that does not resolve, and for each old form.
    pub(super) fn check(&self, path: &str, text: &str) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let location = format!("{path}:{number}");
            for reference in references(line).into_iter().filter(|reference| !self.0.contains(*reference)) {
                let problem =
                    format!("{reference} is no rule of docs/contract.md or docs/media.md and no decision");
                findings.push(Finding::new(&location, problem));
            }
            for reference in old_references(line) {
                let problem =
                    format!("\"{reference}\" is an old form: cite a rule or a decision, as in C-13");
                findings.push(Finding::new(&location, problem));
            }
        }
        findings
    }
}

/// Words that begin with `C-`, `M-` or `D-` and a digit, up to another hyphen, with the letters that follow.
fn references(line: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let words = line.split(|c| !is_word(c));
    words
        .filter_map(|word| {
            let number = ["C-", "M-", "D-"].iter().find_map(|prefix| word.strip_prefix(prefix))?;
            let len = number.find('-').unwrap_or(number.len());
            number.starts_with(|c: char| c.is_ascii_digit()).then(|| &word[.."C-".len() + len])
        })
        .collect()
}

/// References of the form that rules had before: the words `decision` or `Pipeline` with a number, or
/// `design` or `contract` with `section` and a number. Text between backticks is code and is not read.
fn old_references(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    for prose in line.split('`').step_by(2) {
        let words: Vec<&str> = prose.split_whitespace().collect();
        for (index, number) in words.iter().enumerate() {
            let is_number = number.starts_with(|c: char| c.is_ascii_digit());
            let word = |back: usize| {
                let word = index.checked_sub(back).map_or("", |index| words[index]);
                word.trim_start_matches(|c: char| !c.is_alphanumeric())
            };
            let is = |back: usize, expected: &str| word(back).eq_ignore_ascii_case(expected);
            let is_rule = is(1, "decision") || is(1, "decisions") || word(1) == "Pipeline";
            let is_section =
                (is(1, "section") || is(1, "sections")) && (is(2, "design") || is(2, "contract"));
            if is_number && (is_rule || is_section) {
                let number = number.trim_end_matches(|c: char| !c.is_alphanumeric());
                let design = if is_section { format!("{} ", word(2)) } else { String::new() };
                found.push(format!("{design}{} {number}", word(1)));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> KnownReferences {
        let documents = ["# Title\n\n### C-13\n\nText\n".to_owned(), "### M-7\n".to_owned()];
        KnownReferences::of(&documents, &[("api.md".to_owned(), "## D-0042: A title\n".to_owned())])
    }

    /// The findings of a text as lines.
    fn found(text: &str) -> Vec<String> {
        known().check("a.rs", text).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn reference_to_nothing_is_found() {
        // References are assembled here, because this file is checked too.
        let bad = format!("// C-{}\n\n// M-{}: D-{}", 14, 70, "0043");
        let problem = "is no rule of docs/contract.md or docs/media.md and no decision";
        assert_eq!(
            found(&bad),
            [
                format!("a.rs:1: C-{} {problem}", 14),
                format!("a.rs:3: M-{} {problem}", 70),
                format!("a.rs:3: D-{} {problem}", "0043")
            ]
        );
    }

    #[test]
    fn reference_with_other_digits_or_letters_is_found() {
        let references =
            [("D", "42"), ("D", "00042"), ("C", "101b"), ("C", "13b"), ("C", "13_b"), ("M", "1000")];
        for (letter, number) in references {
            assert_eq!(found(&format!("// see {letter}-{number}.")).len(), 1, "{letter}-{number}");
        }
    }

    #[test]
    fn known_references_and_other_words_are_valid() {
        let good =
            "// (C-13, M-7; D-0042), [C-13](a.md), C-13-like, C-like, M-JPEG, AV1-C, AC-3, VC-1, C-A, UTC-5";
        assert_eq!(found(good), [""; 0]);
        assert_eq!(found("RFC 8216, 4.3; 01a21acd-28fa-71bc-8451-1f33b4f63148; 0xC-7"), [""; 0]);
    }

    #[test]
    fn old_form_is_found() {
        for (words, number) in [
            ("contract decision", "13"),
            ("(Decision", "40)."),
            ("decisions", "4 and 5"),
            ("design section", "5, 6"),
            ("the Design Section", "5.1"),
            ("contract section", "2"),
            ("Pipeline", "3"),
        ] {
            assert_eq!(found(&format!("// {words} {number}")).len(), 1, "{words} {number}");
        }
        let problem = "is an old form: cite a rule or a decision, as in C-13";
        let bad = format!("see (decision {}).", 40);
        assert_eq!(found(&bad), [format!("a.rs:1: \"decision {}\" {problem}", 40)]);
    }

    #[test]
    fn sections_of_standards_and_topic_links_are_valid() {
        assert_eq!(found("RFC 8216, section 4.3; the pipeline 3 times; decisions/api.md 5"), [""; 0]);
        assert_eq!(found("[decisions](decisions/api.md#d-0042): D-0042; `decision 4`"), [""; 0]);
    }
}
