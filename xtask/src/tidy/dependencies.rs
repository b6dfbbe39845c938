//! The allowed dependencies between crates, read from `cargo metadata`.
//!
//! ```text
//! server → { api, dashboard, delivery, upload, jobs, live } → { web, service, packager, intake }
//!        → { store, blob, fetch, engine } → domain
//! { packager, intake } → formats → { matroska, hls } → isobmff → index
//! ```
//!
//! An arrow may skip layers. The crates of the second layer never depend on each other: they share rows,
//! objects and the live window. One exception: `dashboard` asks `delivery` for passes and still images
//! (D-0159). `web` has the code that `api`, `dashboard`, `delivery` and `upload` share.
//! It depends on none of them, but on `service` for the caller of an operation. `testkit` is for tests,
//! `xtask` for developers and `yardstick` for benches: no crate of the product depends on them.

use cargo_metadata::{DependencyKind, Package};

use super::Finding;

/// The dependencies that each crate may have outside its tests. A crate that is not listed here is a
/// finding.
const ARROWS: [(&str, &[&str]); 25] = [
    ("domain", &[]),
    ("fair", &[]),
    ("index", &[]),
    ("isobmff", &["index"]),
    ("matroska", &["index", "isobmff"]),
    ("hls", &["index", "isobmff"]),
    ("formats", &["index", "isobmff", "matroska", "hls"]),
    ("store", &["domain"]),
    ("blob", &["domain", "fair"]),
    ("fetch", &["domain"]),
    ("engine", &["domain"]),
    (
        "packager",
        &["domain", "index", "isobmff", "matroska", "hls", "formats", "store", "blob", "fetch", "engine"],
    ),
    ("intake", &["domain", "fair", "index", "isobmff", "matroska", "hls", "formats", "store", "blob"]),
    ("service", &["domain", "store", "fetch"]),
    ("web", &["domain", "store", "service"]),
    ("api", &["domain", "store", "fetch", "intake", "service", "web"]),
    ("dashboard", &["delivery", "domain", "store", "service", "web"]),
    ("delivery", &["domain", "index", "hls", "formats", "store", "packager", "web"]),
    ("upload", &["domain", "store", "intake", "web"]),
    (
        "jobs",
        &[
            "domain", "fair", "index", "isobmff", "matroska", "hls", "formats", "store", "blob", "fetch",
            "engine", "packager", "intake",
        ],
    ),
    (
        "live",
        &[
            "domain", "index", "isobmff", "matroska", "hls", "formats", "store", "blob", "fetch", "engine",
            "packager",
        ],
    ),
    (
        "server",
        &[
            "domain",
            "fair",
            "index",
            "isobmff",
            "matroska",
            "hls",
            "formats",
            "store",
            "blob",
            "fetch",
            "engine",
            "packager",
            "intake",
            "service",
            "web",
            "api",
            "dashboard",
            "delivery",
            "upload",
            "jobs",
            "live",
        ],
    ),
    ("testkit", &["domain", "store", "blob"]),
    ("xtask", &[]),
    ("yardstick", &["domain", "store"]),
];

/// External libraries and the crates that may use them, so that their rules (guard, transactions, keys)
/// hold.
const FENCES: [(&str, &[&str]); 3] =
    [("sqlx", &["store"]), ("reqwest", &["fetch", "blob"]), ("object_store", &["blob"])];

/// Our crates that are not part of the product: only tests may depend on them, and the fences do not apply.
const TOOLS: [&str; 3] = ["testkit", "xtask", "yardstick"];

/// A crate of the workspace and its dependencies.
#[derive(Debug)]
pub(super) struct Member {
    name: String,
    dependencies: Vec<Dependency>,
}

#[derive(Debug)]
struct Dependency {
    name: String,
    /// Needed to build the crate itself, not only for its tests.
    is_built_in: bool,
    /// A crate of the workspace.
    is_member: bool,
}

impl From<&Package> for Member {
    fn from(package: &Package) -> Self {
        let dependencies = package.dependencies.iter().map(|dependency| Dependency {
            name: short(&dependency.name),
            is_built_in: dependency.kind != DependencyKind::Development,
            is_member: dependency.path.is_some(),
        });
        Self { name: short(&package.name), dependencies: dependencies.collect() }
    }
}

/// The name without the common prefix of our packages.
fn short(name: &str) -> String {
    name.strip_prefix("kinora-").unwrap_or(name).to_owned()
}

/// Findings for every forbidden dependency between crates, and for every use of a fenced library.
pub(super) fn check(members: &[Member]) -> Vec<Finding> {
    members.iter().flat_map(check_member).collect()
}

fn check_member(member: &Member) -> Vec<Finding> {
    let Some((_, allowed)) = ARROWS.iter().find(|(name, _)| *name == member.name) else {
        let problem =
            "no rule says what this crate may depend on: add it to ARROWS in xtask/src/tidy/dependencies.rs";
        return vec![Finding::new(&member.name, problem)];
    };
    let problem_with = |dependency: &Dependency| {
        let target = dependency.name.as_str();
        if dependency.is_member {
            let is_testkit_in_tests = target == "testkit" && !dependency.is_built_in;
            let forbidden = !allowed.contains(&target) && !is_testkit_in_tests;
            return forbidden.then(|| format!("must not depend on {target}"));
        }
        let (_, allowed_crates) = FENCES.iter().find(|(library, _)| *library == target)?;
        let crossed = dependency.is_built_in
            && !allowed_crates.contains(&member.name.as_str())
            && !TOOLS.contains(&member.name.as_str());
        crossed.then(|| format!("only {} may depend on {target}", allowed_crates.join(" and ")))
    };
    member
        .dependencies
        .iter()
        .filter_map(problem_with)
        .map(|problem| Finding::new(&member.name, problem))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ours(name: &str) -> Dependency {
        Dependency { name: name.to_owned(), is_built_in: true, is_member: true }
    }

    fn outside(name: &str) -> Dependency {
        Dependency { name: name.to_owned(), is_built_in: true, is_member: false }
    }

    fn in_tests(dependency: Dependency) -> Dependency {
        Dependency { is_built_in: false, ..dependency }
    }

    #[track_caller]
    fn check_one(name: &str, dependency: Dependency, expected: Option<&str>) {
        let found = check(&[Member { name: name.to_owned(), dependencies: vec![dependency] }]);
        let expected: Vec<Finding> = expected.iter().map(|problem| Finding::new(name, *problem)).collect();
        assert_eq!(found, expected, "an arrow of {name}");
    }

    #[test]
    fn lower_layer_dependencies_are_allowed() {
        for (from, to) in [
            ("server", "api"),
            ("server", "web"),
            ("server", "domain"),
            ("api", "web"),
            ("delivery", "packager"),
            ("upload", "intake"),
            ("web", "store"),
            ("web", "service"),
            ("service", "store"),
            ("api", "service"),
            ("dashboard", "service"),
            ("server", "service"),
            ("jobs", "formats"),
            ("formats", "matroska"),
            ("matroska", "isobmff"),
            ("hls", "index"),
            ("live", "engine"),
            ("packager", "fetch"),
            ("store", "domain"),
            ("testkit", "blob"),
        ] {
            check_one(from, ours(to), None);
        }
    }

    #[test]
    fn upward_dependency_is_found() {
        for (from, to) in [
            ("domain", "formats"),
            ("formats", "domain"),
            ("index", "isobmff"),
            ("isobmff", "matroska"),
            ("matroska", "hls"),
            ("hls", "formats"),
            ("store", "formats"),
            ("store", "blob"),
            ("engine", "fetch"),
            ("packager", "jobs"),
            ("api", "jobs"),
            ("jobs", "web"),
            ("live", "jobs"),
            ("service", "web"),
            ("service", "intake"),
            ("service", "api"),
            ("jobs", "service"),
            ("api", "server"),
            ("testkit", "server"),
            ("xtask", "domain"),
        ] {
            check_one(from, ours(to), Some(&format!("must not depend on {to}")));
        }
    }

    #[test]
    fn http_crates_never_depend_on_each_other() {
        let routes = ["api", "dashboard", "delivery", "upload"];
        for from in routes {
            check_one(from, ours("web"), None);
            check_one("web", ours(from), Some(&format!("must not depend on {from}")));
            // D-0159.
            let is_allowed = |to: &str| to == from || (from, to) == ("dashboard", "delivery");
            for to in routes.into_iter().filter(|to| !is_allowed(to)) {
                let refusal = format!("must not depend on {to}");
                check_one(from, ours(to), Some(&refusal));
                check_one(from, in_tests(ours(to)), Some(&refusal));
            }
        }
    }

    #[test]
    fn only_testkit_is_allowed_as_dev_dependency() {
        check_one("store", in_tests(ours("testkit")), None);
        check_one("store", ours("testkit"), Some("must not depend on testkit"));
        check_one("store", in_tests(ours("web")), Some("must not depend on web"));
    }

    #[test]
    fn restricted_library_needs_an_allowed_crate() {
        for (library, allowed_crates) in FENCES {
            for allowed_crate in allowed_crates {
                check_one(allowed_crate, outside(library), None);
            }
            let refusal = format!("only {} may depend on {library}", allowed_crates.join(" and "));
            check_one("jobs", outside(library), Some(&refusal));
            check_one("server", in_tests(outside(library)), None);
            check_one("testkit", outside(library), None);
        }
        check_one("jobs", outside("tokio"), None);
    }

    #[test]
    fn crate_without_layer_is_found() {
        let found = check(&[Member { name: "extra".to_owned(), dependencies: Vec::new() }]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].location, "extra");
    }
}
