//! Cycles of dependencies between the modules of a crate.
//!
//! `web/src/idempotency.rs` may use `web/src/auth.rs`, which then may not use `once`, directly or indirectly.
//! Dependencies are read from paths outside tests: `crate::module`, and as many `super::` as lead to the
//! root. The root of a crate may use all modules.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;

/// Crates that still have such a cycle. Remove a name with its last cycle; never add one.
const STILL_CIRCULAR: [&str; 4] = ["engine", "intake", "server", "store"];

/// The start of unit tests at the end of a file.
const TESTS: &str = "#[cfg(test)]\nmod tests {";

/// Modules by name, each with the modules it uses.
type Graph = BTreeMap<String, BTreeSet<String>>;

/// Findings for every cycle of modules in `files`: pairs of path and text, of all crates. Also for a crate
/// that is listed for cycles and has none any more.
pub(super) fn check(files: &[(String, String)]) -> Vec<Finding> {
    let mut crates: BTreeMap<&str, Graph> = BTreeMap::new();
    for (path, text) in files {
        if let Some((name, module)) = module_of(path) {
            let used = used(&from_root(text, depth_of(path)));
            crates.entry(name).or_default().entry(module.to_owned()).or_default().extend(used);
        }
    }
    crates.iter().filter_map(|(name, graph)| judge(name, &circular(graph))).collect()
}

fn judge(name: &str, circular: &[&str]) -> Option<Finding> {
    let problem = match (circular.is_empty(), STILL_CIRCULAR.contains(&name)) {
        (true, false) | (false, true) => return None,
        (false, false) => format!("these modules use each other in a circle: {}", circular.join(", ")),
        (true, true) => "has no circle of modules any more: remove it from STILL_CIRCULAR".to_owned(),
    };
    Some(Finding::new(format!("crates/{name}/src"), problem))
}

/// The crate and the module of a file. `None` for tests and for the root of a crate.
fn module_of(path: &str) -> Option<(&str, &str)> {
    let (name, file) = path.strip_prefix("crates/")?.split_once("/src/")?;
    let module = file.split('/').next()?.trim_end_matches(".rs");
    let is_root = matches!(module, "lib" | "main");
    (path.ends_with(".rs") && !path.ends_with("/tests.rs") && !is_root).then_some((name, module))
}

/// The number of `super::` from a file to the root of its crate: 1 from `a.rs` and `a/mod.rs`, 2 from
/// `a/b.rs`.
fn depth_of(path: &str) -> usize {
    let file = path.split_once("/src/").map_or(path, |(_, file)| file);
    file.trim_end_matches("/mod.rs").split('/').count()
}

/// The text with `crate::` in place of `super::` in each path that reaches the root.
fn from_root(text: &str, depth: usize) -> String {
    text.replace(&"super::".repeat(depth), "crate::")
}

/// The names after `crate::`, also those of a group. Some are items of the root, not modules, and have no
/// effect.
fn used(text: &str) -> BTreeSet<String> {
    let text = text.split(TESTS).next().unwrap_or_default();
    let code: String = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let first =
        |path: &str| path.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let mut names = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        match rest.strip_prefix('{') {
            Some(group) => names.extend(group_of(group).iter().map(|path| first(path))),
            None => drop(names.insert(first(rest))),
        }
    }
    names
}

/// The paths of a group up to its closing brace: `a::{b, c}, d}` has `a::{b, c}` and `d`.
fn group_of(group: &str) -> Vec<String> {
    let (mut depth, mut paths) = (0_u32, vec![String::new()]);
    for c in group.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => paths.push(String::new()),
            c => paths.last_mut().expect("there is always one").push(c),
        }
    }
    paths
}

/// The modules that can be reached from themselves.
fn circular(graph: &Graph) -> Vec<&str> {
    graph.keys().filter(|module| reached(graph, module).contains(*module)).map(String::as_str).collect()
}

/// All modules that a module uses, directly or indirectly.
fn reached<'a>(graph: &'a Graph, module: &str) -> BTreeSet<&'a String> {
    let mut reached = BTreeSet::new();
    let mut waiting: Vec<&String> =
        graph.get(module).into_iter().flatten().filter(|used| *used != module).collect();
    while let Some(next) = waiting.pop() {
        if reached.insert(next) {
            waiting.extend(graph.get(next).into_iter().flatten().filter(|used| *used != next));
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<_> =
            files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        check(&files).iter().map(Finding::to_string).collect()
    }

    #[test]
    fn module_cycle_is_found() {
        let tree = [
            ("crates/web/src/lib.rs", "use crate::once;"),
            ("crates/web/src/once/mod.rs", "use crate::once::key;\nuse crate::auth::Writer;"),
            ("crates/web/src/auth.rs", "use crate::error::ApiError;\n// not crate::once\n"),
            (
                "crates/web/src/error.rs",
                "use crate::SomeItem;\n\n#[cfg(test)]\nmod tests {\n    use crate::once;\n}",
            ),
        ];
        assert_eq!(problems(&tree), Vec::<String>::new());

        // As in `auth.rs`: from a module's own folder, one `super::` does not reach the root.
        let mut tree = tree.to_vec();
        tree.push(("crates/web/src/auth/cache.rs", "use super::once;"));
        assert_eq!(problems(&tree), Vec::<String>::new());

        let mut circular = tree.clone();
        circular
            .push(("crates/web/src/error/fields.rs", "use crate::{\n    SomeItem, once::{self, key},\n};"));
        assert_eq!(
            problems(&circular),
            ["crates/web/src: these modules use each other in a circle: auth, error, once"]
        );
    }

    #[test]
    fn module_cycle_through_super_is_found() {
        let problem = ["crates/web/src: these modules use each other in a circle: a, b"];
        for (path, text) in [
            ("crates/web/src/b.rs", "use super::a::Item;"),
            ("crates/web/src/b/mod.rs", "use super::{SomeItem, a};"),
            ("crates/web/src/b/c.rs", "fn f() { super::super::a::g() }"),
            ("crates/web/src/b/c/mod.rs", "use super::super::a;"),
        ] {
            assert_eq!(
                problems(&[("crates/web/src/a.rs", "use super::b;"), (path, text)]),
                problem,
                "{path}"
            );
        }
    }

    #[test]
    fn crate_without_cycle_must_leave_the_list() {
        let files = [("crates/store/src/a.rs", "use crate::b;")];
        assert_eq!(
            problems(&files),
            ["crates/store/src: has no circle of modules any more: remove it from STILL_CIRCULAR"]
        );
    }

    #[test]
    fn module_cycles_are_per_crate() {
        let files = [("crates/web/src/a.rs", "use crate::b;"), ("crates/jobs/src/b.rs", "use crate::a;")];
        assert_eq!(problems(&files), Vec::<String>::new());
    }
}
