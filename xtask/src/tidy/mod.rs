//! Rules about the whole workspace that neither rustc nor clippy can check.
//!
//! Each rule is a pure function from what was read to [`Finding`]s, with a test that shows it failing.
//! Reading is done here. What a lint can say belongs in `Cargo.toml` or `clippy.toml` instead.

use std::error::Error;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use cargo_metadata::MetadataCommand;

mod arrows;
mod decisions;
mod documents;
mod manifests;
mod modules;
mod references;
mod sources;
mod test_names;

/// One place that breaks one rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// A crate, a file or `file:line`, relative to the workspace.
    place: String,
    /// What is wrong and what is wanted, as one sentence.
    problem: String,
}

impl Finding {
    fn new(place: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { place: place.into(), problem: problem.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.problem)
    }
}

/// Folders below the root whose text is checked.
const SOURCE_FOLDERS: [&str; 5] = ["bench", "crates", "scripts", "web", "xtask"];
/// Folders that hold other people's text, or text that a tool made.
const SKIPPED_FOLDERS: [&str; 4] = ["dist", "node_modules", "snapshots", "target"];
/// Endings of the files that are read as source text.
const SOURCE_ENDINGS: [&str; 6] = ["css", "mjs", "rs", "sh", "ts", "tsx"];

/// Documents whose rules have numbers, `C-13` and `M-7`.
const RULES: [&str; 2] = ["docs/contract.md", "docs/media.md"];

/// Says which tests each suite holds.
const TEST_CONFIG: &str = ".config/nextest.toml";

/// Applies every rule to the workspace in `root` and returns what breaks one, sorted by place.
///
/// Fails when something cannot be read or parsed at all. Needs no network.
pub(crate) fn check_workspace(root: &Path) -> Result<Vec<Finding>, Box<dyn Error>> {
    let metadata = MetadataCommand::new().manifest_path(root.join("Cargo.toml")).no_deps().exec()?;

    let mut findings = arrows::check(&metadata.packages.iter().map(arrows::Member::from).collect::<Vec<_>>());
    for package in &metadata.packages {
        let path = package.manifest_path.as_std_path();
        findings.extend(manifests::check(&place(root, path), &fs::read_to_string(path)?)?);
    }
    let mut files = Vec::new();
    for folder in SOURCE_FOLDERS {
        for path in files_below(&root.join(folder))? {
            if path.extension().is_some_and(|ending| SOURCE_ENDINGS.iter().any(|known| ending == *known)) {
                files.push((place(root, &path), fs::read_to_string(&path)?));
            }
        }
    }
    findings.extend(files.iter().flat_map(|(path, text)| sources::check(path, text)));
    findings.extend(modules::check(&files));
    let mut tests = Vec::new();
    for path in files_below(&root.join("crates"))? {
        if path.components().any(|part| part.as_os_str() == "tests")
            && path.extension().is_some_and(|ending| ending == "rs")
        {
            tests.push(fs::read_to_string(&path)?);
        }
    }
    let config = root.join(TEST_CONFIG);
    findings.extend(test_names::check(TEST_CONFIG, &fs::read_to_string(config)?, &tests));
    let mut decisions = Vec::new();
    for path in files_below(&root.join("docs/decisions"))? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        decisions.push((name, fs::read_to_string(&path)?));
    }
    findings.extend(decisions::check(&decisions));
    let rules = RULES.map(|path| fs::read_to_string(root.join(path)));
    let rules = rules.into_iter().collect::<Result<Vec<_>, _>>()?;
    let known = references::Known::of(&rules, &decisions);
    let beside = ["ARCHITECTURE.md", "CHANGELOG.md", "README.md"].map(|name| root.join(name));
    for path in files_below(&root.join("docs"))?.into_iter().chain(beside) {
        if path.extension().is_some_and(|ending| ending == "md") {
            files.push((place(root, &path), fs::read_to_string(&path)?));
        }
    }
    let documents = files.iter().filter(|(path, _)| path.ends_with(".md"));
    findings.extend(documents.flat_map(|(path, text)| documents::check(path, text)));
    findings.extend(files.iter().flat_map(|(path, text)| known.check(path, text)));
    findings.sort();
    Ok(findings)
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

/// How a path is named in a finding: relative to the workspace, with `/`.
fn place(root: &Path, path: &Path) -> String {
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
    fn files_are_found_at_any_depth_but_not_where_tools_write() {
        let root = tempfile::tempdir().expect("a temporary folder");
        for path in ["a.rs", "b/c/d.rs", "node_modules/x.ts", "b/target/y.rs", "dist/z.css"] {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().expect("it has one")).expect("created");
            fs::write(path, "").expect("written");
        }
        let found = files_below(root.path()).expect("readable");
        let places: Vec<String> = found.iter().map(|path| place(root.path(), path)).collect();
        assert_eq!(places, ["a.rs", "b/c/d.rs"]);
    }

    #[test]
    fn a_folder_that_is_not_there_holds_no_files() {
        let found = files_below(Path::new("/nowhere/at/all")).expect("not an error");
        assert_eq!(found, Vec::<PathBuf>::new());
    }
}
