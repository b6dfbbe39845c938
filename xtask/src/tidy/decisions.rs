//! The records of decisions in `docs/decisions`: one file per topic, and an index of all.
//!
//! A record begins with an anchor, its number and title, and the date with the status:
//!
//! ```text
//! <a id="d-0042"></a>
//!
//! ## D-0042: The engine runs at low priority
//!
//! 2026-11-22, in force.
//! ```

use std::collections::BTreeMap;

use super::Finding;

/// Most lines of one record from its heading on, including empty ones. Longer text belongs in
/// `ARCHITECTURE.md`.
const LINES_MAX: usize = 16;
/// The file that lists all records.
pub(super) const INDEX: &str = "README.md";
/// The topics, as files in `docs/decisions`.
const TOPICS: [&str; 14] = [
    "api.md",
    "cutting.md",
    "dashboard.md",
    "encoding.md",
    "operations.md",
    "parsing.md",
    "pictures.md",
    "playback-access.md",
    "several-processes.md",
    "store.md",
    "structure.md",
    "tracks-and-playlists.md",
    "uploads.md",
    "webhooks.md",
];

/// One decision.
#[derive(Debug, PartialEq, Eq)]
struct Record<'a> {
    /// `0042`.
    number: &'a str,
    title: &'a str,
    /// The line with date and status.
    status: &'a str,
    lines: usize,
    /// Whether the anchor precedes the heading.
    has_anchor: bool,
}

/// Checks all files, given as path below `docs/decisions` and text: topics, numbers without gaps, form and
/// length of the records, and the index.
pub(super) fn check(files: &[(String, String)]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut numbers = BTreeMap::new();
    let mut index = String::new();
    for (name, text) in files.iter().filter(|(name, _)| name != INDEX) {
        let path = format!("docs/decisions/{name}");
        if !TOPICS.contains(&name.as_str()) {
            findings.push(Finding::new(&path, format!("is no topic: use one of {}", TOPICS.join(", "))));
            continue;
        }
        let mut last = "";
        for record in records(text) {
            let Record { number, title, .. } = record;
            let entry = format!("{path}: D-{number}");
            findings.extend(record.problems().into_iter().map(|problem| Finding::new(&entry, problem)));
            if number <= last {
                findings.push(Finding::new(&entry, format!("must stand before D-{last}")));
            }
            last = number;
            if let Some(other) = numbers.insert(number.to_owned(), name) {
                findings.push(Finding::new(&entry, format!("is also in {other}")));
            }
            index.push_str(&format!("- [D-{number}]({name}#d-{number}): {title}\n"));
        }
    }
    for (expected, number) in (1..).zip(numbers.keys()) {
        if *number != format!("{expected:04}") {
            findings.push(Finding::new("docs/decisions", format!("D-{expected:04} is missing")));
            break;
        }
    }
    let listed = files.iter().find(|(name, _)| name == INDEX).map_or("", |(_, text)| text);
    findings.extend(check_index(listed, &index));
    findings
}

/// The index lists each record once, and nothing else.
fn check_index(listed: &str, expected: &str) -> Vec<Finding> {
    let path = format!("docs/decisions/{INDEX}");
    let entries = |text: &str| -> Vec<String> {
        text.lines().filter(|line| line.starts_with("- [D-")).map(str::to_owned).collect()
    };
    let (listed, expected) = (entries(listed), entries(expected));
    let missing = expected.iter().filter(|line| !listed.contains(line));
    let extra = listed.iter().filter(|line| !expected.contains(line));
    let missing = missing.map(|line| Finding::new(&path, format!("has no line {line}")));
    let extra = extra.map(|line| Finding::new(&path, format!("lists no record with {line}")));
    missing.chain(extra).collect()
}

/// The numbers of all records of these files, `0042`.
pub(super) fn numbers(files: &[(String, String)]) -> impl Iterator<Item = &str> {
    files.iter().flat_map(|(_, text)| records(text)).map(|record| record.number)
}

fn records(text: &str) -> Vec<Record<'_>> {
    let lines: Vec<&str> = text.lines().collect();
    let headings: Vec<usize> = (0..lines.len()).filter(|line| lines[*line].starts_with("## D-")).collect();
    let ends = headings.iter().skip(1).copied().chain([lines.len()]);
    headings
        .iter()
        .zip(ends)
        .map(|(start, end)| {
            let (number, title) = lines[*start]["## D-".len()..].split_once(": ").unwrap_or_default();
            let body = &lines[*start..end];
            // The anchor of the next record does not belong to this one.
            let len =
                body.iter().rposition(|line| !line.is_empty() && !line.starts_with("<a id=")).unwrap_or(0);
            let anchor = format!("<a id=\"d-{number}\"></a>");
            Record {
                number,
                title,
                status: body.get(2).copied().unwrap_or_default(),
                lines: len + 1,
                has_anchor: lines[..*start].iter().rev().find(|line| !line.is_empty())
                    == Some(&anchor.as_str()),
            }
        })
        .collect()
}

impl Record<'_> {
    fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if self.number.len() != 4
            || !self.number.bytes().all(|byte| byte.is_ascii_digit())
            || self.title.is_empty()
        {
            problems.push("wants a heading like `## D-0042: The engine runs at low priority`".to_owned());
        }
        if !self.has_anchor {
            problems.push(format!("wants `<a id=\"d-{}\"></a>` before its heading", self.number));
        }
        let (date, status) = self.status.split_once(", ").unwrap_or_default();
        let is_date = date.len() == 10 && date.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        if !is_date || !(status.starts_with("in force") || status.starts_with("replaced by D-")) {
            problems.push("wants a line like `2026-11-22, in force.` below its heading".to_owned());
        }
        if LINES_MAX < self.lines {
            problems.push(format!("has {} lines, {LINES_MAX} are allowed", self.lines));
        }
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(number: &str) -> String {
        format!("<a id=\"d-{number}\"></a>\n\n## D-{number}: A title\n\n2026-11-22, in force.\n\nText.\n\n")
    }

    fn index(entries: &[(&str, &str)]) -> (String, String) {
        let line = |(number, topic): &(&str, &str)| format!("- [D-{number}]({topic}#d-{number}): A title\n");
        (INDEX.to_owned(), entries.iter().map(line).collect())
    }

    fn file(name: &str, text: impl Into<String>) -> (String, String) {
        (name.to_owned(), text.into())
    }

    #[track_caller]
    fn check_found(files: &[(String, String)], expected: &[&str]) {
        let found: Vec<_> = check(files).iter().map(ToString::to_string).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn records_of_two_topics_are_valid() {
        let files = [
            file("api.md", format!("# API\n\n{}{}", record("0001"), record("0003"))),
            file("store.md", format!("# Store\n\n{}", record("0002"))),
            index(&[("0001", "api.md"), ("0003", "api.md"), ("0002", "store.md")]),
        ];
        check_found(&files, &[]);
        assert_eq!(numbers(&files).collect::<Vec<_>>(), ["0001", "0003", "0002"]);
    }

    #[test]
    fn file_outside_the_topics_is_found() {
        let topics = TOPICS.join(", ");
        let expected = format!("docs/decisions/0001-one.md: is no topic: use one of {topics}");
        check_found(&[file("0001-one.md", record("0001"))], &[&expected]);
        let expected = format!("docs/decisions/old/api.md: is no topic: use one of {topics}");
        check_found(&[file("old/api.md", record("0001"))], &[&expected]);
    }

    #[test]
    fn gap_double_and_wrong_order_are_found() {
        let files = [
            file("api.md", record("0003") + &record("0001")),
            file("store.md", record("0003")),
            index(&[("0003", "api.md"), ("0001", "api.md"), ("0003", "store.md")]),
        ];
        check_found(
            &files,
            &[
                "docs/decisions/api.md: D-0001: must stand before D-0003",
                "docs/decisions/store.md: D-0003: is also in api.md",
                "docs/decisions: D-0002 is missing",
            ],
        );
    }

    #[test]
    fn record_without_anchor_date_or_title_is_found() {
        let text = record("0001").replace("d-0001", "d-0002").replace("2026-11-22, in force.", "Yesterday.");
        let files = [file("api.md", text), index(&[("0001", "api.md")])];
        check_found(
            &files,
            &[
                "docs/decisions/api.md: D-0001: wants `<a id=\"d-0001\"></a>` before its heading",
                "docs/decisions/api.md: D-0001: wants a line like `2026-11-22, in force.` below its heading",
            ],
        );
        let untitled = records(concat!("## D-", "12: \n"));
        assert_eq!(
            untitled[0].problems()[0],
            "wants a heading like `## D-0042: The engine runs at low priority`"
        );
    }

    #[test]
    fn long_record_is_found() {
        let with = |lines: usize| {
            let text =
                record("0001").trim_end().to_owned() + &"\nline".repeat(lines) + "\n\n" + &record("0002");
            [file("api.md", text), index(&[("0001", "api.md"), ("0002", "api.md")])]
        };
        check_found(&with(LINES_MAX - 5), &[]);
        check_found(&with(LINES_MAX - 4), &["docs/decisions/api.md: D-0001: has 17 lines, 16 are allowed"]);
    }

    #[test]
    fn index_lists_each_record_once_and_nothing_else() {
        let files = [file("api.md", record("0001")), index(&[("0002", "api.md")])];
        check_found(
            &files,
            &[
                "docs/decisions/README.md: has no line - [D-0001](api.md#d-0001): A title",
                "docs/decisions/README.md: lists no record with - [D-0002](api.md#d-0002): A title",
            ],
        );
    }
}
