//! References resolve: `C-13` is a rule of `docs/contract.md`, `M-7` one of `docs/media.md`, `D-0042` a
//! decision.

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

    /// A finding for each reference of a text that does not resolve.
    pub(super) fn check(&self, path: &str, text: &str) -> Vec<Finding> {
        let unresolved = |(number, line)| {
            let found = references(line).into_iter().filter(|reference| !self.0.contains(*reference));
            found.map(move |reference| {
                let problem =
                    format!("{reference} is no rule of docs/contract.md or docs/media.md and no decision");
                Finding::new(format!("{path}:{number}"), problem)
            })
        };
        (1..).zip(text.lines()).flat_map(unresolved).collect()
    }
}

/// Words of the form `C-` or `M-` with up to three digits, or `D-` with four.
fn references(line: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let words = line.split(|c| !is_word(c));
    words
        .filter(|word| {
            let digits = |lens: std::ops::RangeInclusive<usize>, number: &str| {
                lens.contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit())
            };
            match word.split_once('-') {
                Some(("C" | "M", number)) => digits(1..=3, number),
                Some(("D", number)) => digits(4..=4, number),
                _ => false,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reference_to_nothing_is_found() {
        let documents = ["# Title\n\n### C-13\n\nText\n".to_owned(), "### M-7\n".to_owned()];
        let existing =
            KnownReferences::of(&documents, &[("api.md".to_owned(), "## D-0042: A title\n".to_owned())]);
        let good = "// (C-13, M-7; D-0042), AC-3, VC-1, C-A, UTC-5 and D-42";
        assert_eq!(existing.check("a.rs", good), []);
        // Assembled here, because this file is checked too.
        let bad = format!("// C-14\n\n// M-{}: D-0043", 70);
        let found: Vec<_> = existing.check("a.rs", &bad).iter().map(ToString::to_string).collect();
        let problem = "is no rule of docs/contract.md or docs/media.md and no decision";
        assert_eq!(
            found,
            [
                format!("a.rs:1: C-14 {problem}"),
                format!("a.rs:3: M-{} {problem}", 70),
                format!("a.rs:3: D-0043 {problem}")
            ]
        );
    }
}
