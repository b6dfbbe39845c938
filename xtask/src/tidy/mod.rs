//! Rules about the whole workspace that neither rustc nor clippy can check.
//!
//! Each rule is a pure function from the files' content to [`Finding`]s, with a test that fails it. The
//! files are read here. A rule that a lint can state belongs in `Cargo.toml` or `clippy.toml` instead.

use std::error::Error;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use cargo_metadata::MetadataCommand;

mod comments;
mod decisions;
mod dependencies;
mod documents;
mod links;
mod manifests;
mod module_cycles;
mod nextest_filters;
mod references;
mod sources;
mod words;

/// One violation of a rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// A crate, a file or `file:line`, relative to the workspace.
    location: String,
    /// The violation and the required form, as one sentence.
    problem: String,
}

impl Finding {
    fn new(location: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { location: location.into(), problem: problem.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.location, self.problem)
    }
}

/// Folders with third-party code, output of tools or data, anywhere in the workspace.
const SKIPPED_FOLDERS: [&str; 5] = [".git", "data", "dist", "node_modules", "target"];
/// Folders with expected output of tests, which no person writes.
const GOLDEN_FOLDERS: [&str; 2] = ["golden", "snapshots"];
/// Endings of the files that are checked as source text: of `Makefile`, the whole name.
const SOURCE_ENDINGS: [&str; 10] = ["css", "js", "mjs", "py", "rs", "sh", "toml", "ts", "tsx", "Makefile"];
/// Documents that are not for readers: a template of confined processes' tests.
const TEMPLATES: [&str; 1] = ["crates/engine/src/confine/hostile/page.md"];

/// Documents with numbered rules, `C-13` and `M-7`.
const RULES: [&str; 2] = ["docs/contract.md", "docs/media.md"];

/// The folder with the records of decisions.
const DECISIONS: &str = "docs/decisions";

/// The file that lists the tests of each suite.
const TEST_CONFIG: &str = ".config/nextest.toml";

/// Applies every rule to the workspace in `root` and returns all violations, sorted by location.
///
/// Fails if a file cannot be read or parsed. Needs no network.
pub(crate) fn check_workspace(root: &Path) -> Result<Vec<Finding>, Box<dyn Error>> {
    let metadata = MetadataCommand::new().manifest_path(root.join("Cargo.toml")).no_deps().exec()?;

    let mut findings =
        dependencies::check(&metadata.packages.iter().map(dependencies::Member::from).collect::<Vec<_>>());
    for package in &metadata.packages {
        let path = package.manifest_path.as_std_path();
        findings.extend(manifests::check(&relative_path(root, path), &fs::read_to_string(path)?)?);
    }
    let paths = files_below(root)?;
    let paths: Vec<String> = paths.iter().map(|path| relative_path(root, path)).collect();
    let read = |path: &String| Ok((path.clone(), fs::read_to_string(root.join(path))?));
    let files: Vec<(String, String)> =
        paths.iter().filter(|path| is_source(path)).map(read).collect::<std::io::Result<_>>()?;
    let documents: Vec<(String, String)> =
        paths.iter().filter(|path| is_document(path)).map(read).collect::<std::io::Result<_>>()?;
    findings.extend(files.iter().flat_map(|(path, text)| sources::check(path, text)));
    findings.extend(module_cycles::check(&files));
    let mut tests = Vec::new();
    for path in files_below(&root.join("crates"))? {
        if path.components().any(|part| part.as_os_str() == "tests")
            && path.extension().is_some_and(|ending| ending == "rs")
        {
            tests.push(fs::read_to_string(&path)?);
        }
    }
    let config = root.join(TEST_CONFIG);
    findings.extend(nextest_filters::check(TEST_CONFIG, &fs::read_to_string(config)?, &tests));
    let mut decisions = Vec::new();
    for path in files_below(&root.join(DECISIONS))? {
        decisions.push((relative_path(&root.join(DECISIONS), &path), fs::read_to_string(&path)?));
    }
    findings.extend(decisions::check(&decisions));
    let rules = RULES.map(|path| fs::read_to_string(root.join(path)));
    let rules = rules.into_iter().collect::<Result<Vec<_>, _>>()?;
    let known_references = references::KnownReferences::of(&rules, &decisions);
    let texts = || documents.iter().map(|(path, text)| (path.as_str(), text.as_str()));
    let targets = links::Targets::of(paths.iter().map(String::as_str), texts());
    findings.extend(texts().flat_map(|(path, text)| documents::check(path, text)));
    findings.extend(texts().flat_map(|(path, text)| targets.check(path, text)));
    for (path, text) in files.iter().chain(&documents) {
        findings.extend(comments::check(path, text));
        findings.extend(known_references.check(path, text));
        findings.extend(words::check(path, text));
    }
    findings.sort();
    Ok(findings)
}

/// Whether a file is checked as source text.
fn is_source(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let ending = name.rsplit_once('.').map_or(name, |(_, ending)| ending);
    SOURCE_ENDINGS.contains(&ending) && !is_golden(path)
}

/// Whether a file is checked as a document.
fn is_document(path: &str) -> bool {
    path.ends_with(".md") && !is_golden(path) && !TEMPLATES.contains(&path)
}

fn is_golden(path: &str) -> bool {
    path.split('/').any(|part| GOLDEN_FOLDERS.contains(&part))
}

/// All files in a folder and below it, in the order of their paths; none if the folder does not exist.
fn files_below(folder: &Path) -> Result<Vec<PathBuf>, std::io::Error> {
    let mut found = Vec::new();
    let mut waiting = vec![folder.to_path_buf()];
    while let Some(folder) = waiting.pop().filter(|folder| folder.exists()) {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let skipped = SKIPPED_FOLDERS.iter().any(|name| entry.file_name() == *name);
            match entry.file_type()? {
                kind if kind.is_dir() && !skipped => waiting.push(entry.path()),
                kind if kind.is_file() => found.push(entry.path()),
                _ => {}
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The form of a path in a finding: relative to the workspace, with `/`.
fn relative_path(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_workspace_is_tidy() {
        let findings = check_workspace(crate::workspace_root()).expect("the workspace can be read");
        let lines: Vec<String> = findings.iter().map(Finding::to_string).collect();
        assert!(lines.is_empty(), "{}", lines.join("\n"));
    }

    #[test]
    fn files_below_skips_tool_output() {
        let root = tempfile::tempdir().expect("a temporary folder");
        for path in ["a.rs", "b/c/d.rs", "node_modules/x.ts", "b/target/y.rs", "dist/z.css"] {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().expect("it has one")).expect("created");
            fs::write(path, "").expect("written");
        }
        let found = files_below(root.path()).expect("readable");
        let paths: Vec<String> = found.iter().map(|path| relative_path(root.path(), path)).collect();
        assert_eq!(paths, ["a.rs", "b/c/d.rs"]);
    }

    #[test]
    fn sources_and_documents_of_every_folder_are_checked() {
        for path in [
            ".config/nextest.toml",
            "Makefile",
            "bench/lists.py",
            "clippy.toml",
            "fuzz/src/main.rs",
            "proof/main.py",
            "scripts/run.sh",
            "soak/main.py",
            "web/e2e/trial/watch.js",
            "web/src/a.tsx",
        ] {
            assert!(is_source(path), "{path}");
        }
        for path in
            ["Cargo.lock", "web/package.json", "crates/a/tests/golden/a.rs", "crates/a/snapshots/a.rs"]
        {
            assert!(!is_source(path), "{path}");
        }
        for path in ["README.md", "web/README.md", "crates/formats/tests/fixtures/README.md"] {
            assert!(is_document(path), "{path}");
        }
        assert!(!is_document("crates/engine/src/confine/hostile/page.md"));
    }

    #[test]
    fn missing_folder_has_no_files() {
        let found = files_below(Path::new("/nowhere/at/all")).expect("not an error");
        assert_eq!(found, Vec::<PathBuf>::new());
    }
}
