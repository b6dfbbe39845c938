//! Relative links of documents lead to a file or folder of the repository. Their anchors are headings, or
//! `<a id="…">`, of the document they lead to.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;

/// What a link may lead to.
pub(super) struct Targets {
    /// All files of the repository, and their folders.
    paths: BTreeSet<String>,
    /// The anchors of each document.
    anchors: BTreeMap<String, BTreeSet<String>>,
}

impl Targets {
    /// Takes all paths of the repository, and the documents with their text.
    pub(super) fn of<'a>(
        paths: impl Iterator<Item = &'a str>,
        documents: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let with_folders = |path: &'a str| {
            let folders = path.match_indices('/').map(move |(end, _)| path[..end].to_owned());
            folders.chain([path.to_owned()])
        };
        let root = [String::new()];
        Self {
            paths: paths.flat_map(with_folders).chain(root).collect(),
            anchors: documents.map(|(path, text)| (path.to_owned(), anchors(text))).collect(),
        }
    }

    /// A finding for each relative link of a document that leads nowhere.
    pub(super) fn check(&self, path: &str, text: &str) -> Vec<Finding> {
        let links = (1..).zip(prose_lines(text)).flat_map(|(number, line)| {
            let prose = line.split('`').step_by(2).collect::<Vec<_>>().join("");
            links(&prose).map(str::to_owned).map(move |link| (number, link)).collect::<Vec<_>>()
        });
        let broken = links.filter_map(|(number, link)| {
            let problem = self.problem_with(path, &link)?;
            Some(Finding::new(format!("{path}:{number}"), problem))
        });
        broken.collect()
    }

    fn problem_with(&self, document: &str, link: &str) -> Option<String> {
        let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
        let is_absolute = path.starts_with('/') || path.contains("://") || path.starts_with("mailto:");
        if is_absolute {
            return None;
        }
        let target = if path.is_empty() { Some(document.to_owned()) } else { resolve(document, path) };
        let Some(target) = target.filter(|target| self.paths.contains(target)) else {
            return Some(format!("links to {path}, which does not exist"));
        };
        let anchors = self.anchors.get(&target)?;
        let anchor = anchor.filter(|anchor| !anchors.contains(*anchor))?;
        Some(format!("links to #{anchor}, which {target} does not have"))
    }
}

/// The path from the root, or none if it is outside the repository.
fn resolve(document: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = document.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The targets of `[text](target)` and `[text](target "title")`.
fn links(prose: &str) -> impl Iterator<Item = &str> {
    let targets = prose.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter_map(|target| target.split_whitespace().next())
}

/// The lines of a document; a line of a code block is empty.
fn prose_lines(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().map(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        if is_code || is_fence { "" } else { line }
    })
}

/// The anchors of all headings, as GitHub forms them, and those that the text sets.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for line in prose_lines(text) {
        let set = line.split("<a id=\"").skip(1).filter_map(|rest| rest.split('"').next());
        anchors.extend(set.map(str::to_owned));
        let level = line.bytes().take_while(|byte| *byte == b'#').count();
        if (1..=6).contains(&level) && line[level..].starts_with(' ') {
            let slug = slug(&line[level..]);
            let numbered = (1..).map(|number| format!("{slug}-{number}"));
            let free = [slug.clone()].into_iter().chain(numbered).find(|slug| !anchors.contains(slug));
            anchors.extend(free);
        }
    }
    anchors
}

/// `Two words, a `b_c`` as `two-words-a-b_c`; of a link, its text.
fn slug(heading: &str) -> String {
    let mut parts = heading.trim().split("](");
    let first = parts.next().unwrap_or_default().to_owned();
    let text = parts.fold(first, |text, part| text + part.split_once(')').map_or("", |(_, rest)| rest));
    let kept = text.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORE: &str =
        "# Store\n\n<a id=\"d-0001\"></a>\n\n## D-0001: `a_b`, [c](d.md) & e\n\n## Two\n\n## Two\n";

    /// The findings of a text in `docs/a.md`, as lines.
    fn found(text: &str) -> Vec<String> {
        let documents =
            [("docs/a.md", text), ("docs/decisions/store.md", STORE), ("README.md", "# Kinora\n")];
        let paths = documents.iter().map(|(path, _)| *path).chain(["crates/a/src/lib.rs", "docs/b.jpg"]);
        let targets = Targets::of(paths, documents.into_iter());
        targets.check("docs/a.md", text).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn link_to_a_missing_file_is_found() {
        assert_eq!(found("# A\n[x](b.md)"), ["docs/a.md:2: links to b.md, which does not exist"]);
        assert_eq!(found("a ![x](b.jpg), [y](../docs/c.jpg \"title\")").len(), 1);
        assert_eq!(found("[above](../../README.md)").len(), 1);
        assert_eq!(found("[wrong folder](README.md) and [another](store.md#d-0001)").len(), 2);
    }

    #[test]
    fn link_to_a_missing_anchor_is_found() {
        let problem = "links to #d-0059, which docs/decisions/store.md does not have";
        assert_eq!(found("\n[D-0059](decisions/store.md#d-0059)"), [format!("docs/a.md:2: {problem}")]);
        assert_eq!(found("[here](#nothing)").len(), 1);
        assert_eq!(found("[third](decisions/store.md#two-2)").len(), 1);
    }

    #[test]
    fn links_that_resolve_are_valid() {
        let text = "# A b\n[a](#a-b), [b](./b.jpg), [c](../crates/a/src/lib.rs#L10), [d](decisions/), [e](..),\n\
            [f](decisions/store.md#d-0001), [g](decisions/store.md#d-0001-a_b-c--e), [h](../README.md#kinora)\n\
            [i](decisions/store.md#two-1) [j](https://example.com/no.md) [k](mailto:a@example.com)\n\
            `[l](no.md)`\n```sh\n[m](no.md)\n```\n";
        assert_eq!(found(text), [""; 0]);
    }
}
