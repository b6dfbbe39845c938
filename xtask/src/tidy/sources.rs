//! Rules about single lines of source text.
//!
//! They use text, not syntax: a rule has the forbidden words of a line, and its scope.

use super::Finding;

/// A forbidden text.
struct Rule {
    /// The forbidden words; one of them is enough.
    words: &'static [&'static str],
    /// The lines to which it applies.
    holds: fn(&Line<'_>) -> bool,
    problem: &'static str,
}

/// One line and its location.
struct Line<'a> {
    /// Path of the file, relative to the workspace.
    path: &'a str,
    text: &'a str,
    /// In a test file or a test module.
    is_test: bool,
    /// In a file whose tests pause tokio's clock: there a timer does not wait, it moves the clock.
    holds_clock: bool,
}

// The words are assembled so that this file does not break its own rules.
const RULES: [Rule; 4] = [
    Rule {
        words: &[
            concat!("TO", "DO"),
            concat!("FIX", "ME"),
            concat!("to", "do!("),
            concat!("unimple", "mented!("),
        ],
        holds: |_| true,
        problem: "is not finished: finish it, or say in prose what is absent and why",
    },
    Rule {
        words: &[concat!("#[ig", "nore")],
        holds: |line| line.path.ends_with(".rs"),
        problem: "a test that is not run proves nothing: make it run or delete it",
    },
    Rule {
        words: &[concat!("thread::", "sleep"), concat!("time::", "sleep")],
        holds: |line| line.is_test && !line.holds_clock && line.path.ends_with(".rs"),
        problem: "tests do not sleep: move the clock, or await a condition",
    },
    Rule {
        words: &[concat!("process::", "Command"), concat!("posix_", "spawn")],
        holds: |line| !line.is_test && line.path.ends_with(".rs") && !may_start_processes(line.path),
        problem: "only engine starts processes",
    },
];

/// Whether a crate may start processes: the engine, and crates that are not part of the product.
fn may_start_processes(path: &str) -> bool {
    ["crates/engine/", "crates/testkit/", "bench/", "xtask/"].iter().any(|folder| path.starts_with(folder))
}

/// Findings for every line of one file that breaks a rule, and for the file itself if its head is missing.
pub(super) fn check(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    if needs_module_doc(path) && !text.starts_with("//!") {
        findings.push(Finding::new(path, "begins without a head (`//!`) that says what it is for"));
    }
    let tests_begin = if is_test_file(path) { 0 } else { start_of_test_module(text) };
    let holds_clock = text.contains("start_paused = true") || text.contains("time::pause()");
    for (index, line) in text.lines().enumerate() {
        let line = Line { path, text: line, is_test: index >= tests_begin, holds_clock };
        for rule in RULES.iter().filter(|rule| (rule.holds)(&line)) {
            if rule.words.iter().any(|word| line.text.contains(word)) {
                findings.push(Finding::new(format!("{path}:{}", index + 1), rule.problem));
            }
        }
    }
    findings
}

/// Whether it is the first file of a crate, or of a module with several files. Any other may begin with its
/// main item.
fn needs_module_doc(path: &str) -> bool {
    let is_module_root = ["/lib.rs", "/main.rs", "/mod.rs"].iter().any(|name| path.ends_with(name));
    is_module_root && path.contains("/src/")
}

fn is_test_file(path: &str) -> bool {
    path.contains("/tests/") || path.contains("/benches/") || path.ends_with("/tests.rs")
}

/// Index of the line with `#[cfg(test)] mod … {`. Such a module ends its file.
fn start_of_test_module(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let begins = |index: usize| {
        let after = lines[index + 1..].iter().find(|line| !line.starts_with("#["));
        lines[index] == "#[cfg(test)]"
            && after.is_some_and(|line| line.contains("mod ") && line.ends_with('{'))
    };
    (0..lines.len()).find(|index| begins(*index)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "crates/jobs/src/run.rs";

    /// Checks a file that has its head, and compares the line numbers of the findings.
    #[track_caller]
    fn check_lines(path: &str, lines: &[&str], expected: &[usize]) {
        let findings = check(path, &format!("//! A head.\n{}", lines.join("\n")));
        let locations: Vec<&str> = findings.iter().map(|finding| finding.location.as_str()).collect();
        let expected: Vec<String> = expected.iter().map(|number| format!("{path}:{number}")).collect();
        assert_eq!(locations, expected);
    }

    #[test]
    fn todo_is_found_in_every_language() {
        let unfinished = RULES[0].words;
        for word in unfinished {
            check_lines(PATH, &["", &format!("    {word}")], &[3]);
        }
        check_lines("web/src/a.ts", &[&format!("// {}: later", unfinished[0])], &[2]);
        check_lines("scripts/a.sh", &[&format!("# {}", unfinished[1])], &[2]);
        check_lines(PATH, &["// all to do with time", "let method = 1;"], &[]);
    }

    #[test]
    fn ignored_test_is_found() {
        let word = RULES[1].words[0];
        check_lines(PATH, &["#[test]", &format!("{word}]"), &format!("{word} = \"slow\"]")], &[3, 4]);
    }

    #[test]
    fn sleeping_is_found_in_tests_only() {
        for word in RULES[2].words {
            let call = format!("{word}(WAIT).await;");
            check_lines(PATH, &[&call], &[]);
            check_lines(PATH, &[&call, "#[cfg(test)]", "mod tests {", &call, "}"], &[5]);
            check_lines(PATH, &["#[cfg(test)]", "#[path = \"t.rs\"]", "mod tests {", &call], &[5]);
            check_lines(PATH, &["#[cfg(test)]", "mod tests;", &call], &[]);
            check_lines("crates/server/tests/it/main.rs", &[&call], &[2]);
            check_lines("crates/jobs/src/run/tests.rs", &[&call], &[2]);
            check_lines("crates/jobs/src/run/tests.rs", &["#[tokio::test(start_paused = true)]", &call], &[]);
        }
    }

    #[test]
    fn process_start_outside_the_engine_is_found() {
        let word = RULES[3].words[0];
        let line = format!("use std::{word};");
        check_lines(PATH, &[&line], &[2]);
        check_lines("crates/engine/src/child.rs", &[&line], &[]);
        check_lines("crates/testkit/src/media.rs", &[&line], &[]);
        check_lines("crates/server/tests/it/main.rs", &[&line], &[]);
    }

    #[test]
    fn file_without_module_doc_is_found() {
        let head = |path: &str, text: &str| check(path, text).len();
        for path in ["crates/jobs/src/lib.rs", "crates/server/src/main.rs", "crates/jobs/src/run/mod.rs"] {
            assert_eq!(head(path, "use std::fmt;\n"), 1, "{path}");
            assert_eq!(head(path, "//! What it is for.\n"), 0, "{path}");
        }
        for path in [PATH, "crates/server/tests/it/main.rs", "web/src/main.ts"] {
            assert_eq!(head(path, "use super::*;\n"), 0, "{path}");
        }
    }
}
