//! Versions of external dependencies are set only once: in `[workspace.dependencies]` of the root manifest.

use toml::{Table, Value};

use super::Finding;

/// The tables of a member's manifest that name dependencies.
const KINDS: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

/// Every dependency of one manifest without `workspace = true`, also those of one platform only.
///
/// Fails if the text is not TOML.
pub(super) fn check(path: &str, manifest: &str) -> Result<Vec<Finding>, toml::de::Error> {
    let manifest: Table = manifest.parse()?;
    let platforms = manifest.get("target").and_then(Value::as_table).into_iter().flat_map(Table::values);
    let tables = platforms.filter_map(Value::as_table).chain([&manifest]);

    let mut findings = Vec::new();
    for dependencies in tables.flat_map(|table| KINDS.iter().filter_map(|kind| table.get(*kind)?.as_table()))
    {
        for (name, value) in dependencies {
            let inherited = value.get("workspace").and_then(Value::as_bool) == Some(true);
            if !inherited {
                let problem = format!("{name} wants `workspace = true` and its version in the root manifest");
                findings.push(Finding::new(path, problem));
            }
        }
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_names(manifest: &str, expected: &[&str]) {
        let found = check("x/Cargo.toml", manifest).expect("valid TOML");
        let expected: Vec<Finding> = expected
            .iter()
            .map(|name| {
                let problem = format!("{name} wants `workspace = true` and its version in the root manifest");
                Finding::new("x/Cargo.toml", problem)
            })
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn workspace_dependency_is_accepted() {
        check_names("[package]\nname = \"x\"\n[dependencies]\ntokio.workspace = true\n", &[]);
        check_names("[dev-dependencies]\nurl = { workspace = true, features = [\"serde\"] }\n", &[]);
    }

    #[test]
    fn crate_level_dependency_version_is_found() {
        check_names("[dependencies]\ntokio = \"1\"\n", &["tokio"]);
        check_names("[dev-dependencies]\nurl = { version = \"2\" }\n", &["url"]);
        check_names("[build-dependencies]\ncc = { path = \"../cc\" }\n", &["cc"]);
        check_names("[target.'cfg(unix)'.dependencies]\nlibc = \"0.2\"\n", &["libc"]);
        check_names("[dependencies]\nlibc = { workspace = false }\n", &["libc"]);
    }

    #[test]
    fn invalid_manifest_is_an_error() {
        assert!(check("x/Cargo.toml", "[dependencies").is_err());
    }
}
