//! The tests that `.config/nextest.toml` names exist: a filter without a match would silently move a test to
//! another suite.

use super::Finding;

/// Names of tests have this many underscores or more; the file's other words have fewer.
const UNDERSCORES_MIN: usize = 3;

/// Checks the names in `config` against the function names of `sources`, the text of all test files.
pub(super) fn check(path: &str, config: &str, sources: &[String]) -> Vec<Finding> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let lines = config.lines().filter(|line| !line.trim_start().starts_with('#'));
    let words = lines.flat_map(|line| line.split(move |c| !is_word(c)));
    let names = words.filter(|word| word.matches('_').count() >= UNDERSCORES_MIN);
    let missing = names.filter(|name| {
        let function = format!("fn {name}(");
        !sources.iter().any(|source| source.contains(&function))
    });
    missing.map(|name| Finding::new(path, format!("names the test {name}, which does not exist"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_test_is_named() {
        let sources = ["async fn a_test_that_exists() {}".to_owned()];
        let config = "# an_old_comment_here\nslow-timeout = 1\nfilter = 'test(/^api::(a_test_that_exists|a_test_that_left)$/)'\n";
        let expected = Finding::new("nextest.toml", "names the test a_test_that_left, which does not exist");
        assert_eq!(check("nextest.toml", config, &sources), [expected]);
    }
}
