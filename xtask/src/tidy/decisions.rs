//! The records in `docs/decisions`: numbered without gaps, and short enough to be read.

use super::Finding;

/// Lines of one record, empty ones included. What needs more belongs in `ARCHITECTURE.md`.
const LINES_MAX: usize = 14;

/// Checks all records, given as file name and text in the order of their names.
pub(super) fn check(records: &[(String, String)]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, (name, text)) in records.iter().enumerate() {
        let place = format!("docs/decisions/{name}");
        match number(name) {
            None => findings.push(Finding::new(&place, "wants a name like 0001-what-it-says.md")),
            Some(number) if number != index + 1 => {
                findings.push(Finding::new(&place, format!("wants the number {:04}", index + 1)));
            }
            Some(_) => {}
        }
        let lines = text.lines().count();
        if lines > LINES_MAX {
            findings.push(Finding::new(&place, format!("has {lines} lines, {LINES_MAX} are allowed")));
        }
    }
    findings
}

/// The number of a record called `NNNN-title.md`, its title in lower case with hyphens.
fn number(name: &str) -> Option<usize> {
    let (number, title) = name.strip_suffix(".md")?.split_once('-')?;
    let is_title = !title.is_empty()
        && title.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    let is_number = number.len() == 4 && number.bytes().all(|byte| byte.is_ascii_digit());
    if is_title && is_number { number.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_names(names: &[&str], expected: &[(&str, &str)]) {
        let records: Vec<_> = names.iter().map(|name| ((*name).to_owned(), "# Said\n".to_owned())).collect();
        let expected: Vec<Finding> = expected
            .iter()
            .map(|(name, problem)| Finding::new(format!("docs/decisions/{name}"), *problem))
            .collect();
        assert_eq!(check(&records), expected);
    }

    #[test]
    fn numbers_begin_at_one_and_have_no_gaps() {
        check_names(&[], &[]);
        check_names(&["0001-one.md", "0002-two-2.md"], &[]);
        check_names(&["0002-two.md"], &[("0002-two.md", "wants the number 0001")]);
        check_names(&["0001-one.md", "0001-other.md"], &[("0001-other.md", "wants the number 0002")]);
    }

    #[test]
    fn a_name_of_another_shape_is_found() {
        for name in
            ["1-one.md", "0001-One.md", "0001-.md", "0001_one.md", "0001-one.txt", "+001-one.md", "a.md"]
        {
            check_names(&[name], &[(name, "wants a name like 0001-what-it-says.md")]);
        }
    }

    #[test]
    fn a_record_that_grew_long_is_found() {
        let record = |lines: usize| ("0001-one.md".to_owned(), "line\n".repeat(lines));
        assert_eq!(check(&[record(LINES_MAX)]), []);
        let place = "docs/decisions/0001-one.md";
        assert_eq!(check(&[record(LINES_MAX + 1)]), [Finding::new(place, "has 15 lines, 14 are allowed")]);
    }
}
