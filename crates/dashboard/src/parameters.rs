//! Checks of the parameters of a query, and of the fields of a body.

use std::ops::RangeInclusive;

use kinora_web::fields::{Fields, Problems};
use kinora_web::pagination::ListQuery;

/// Adds the names of parameters that do not exist.
pub(crate) fn reject_unknown(query: &ListQuery, known: &[&str], problems: &Problems) {
    for (name, _) in &query.pairs {
        if !known.contains(&name.as_str()) {
            problems.add(name, format!("is not a parameter; the parameters are {}", known.join(", ")));
        }
    }
}

/// Adds the names of fields that do not exist.
pub(crate) fn reject_unknown_fields(fields: &Fields<'_>, known: &[&str]) {
    for (name, _) in fields.entries() {
        if !known.contains(&name.as_str()) {
            fields.reject(name, format!("is not a field; the fields are {}", known.join(", ")));
        }
    }
}

/// A whole number of digits alone, without a sign.
pub(crate) fn whole_number(text: &str, range: RangeInclusive<u32>) -> Option<u32> {
    let has_digits_only = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number| has_digits_only && range.contains(number))
}

/// Adds a problem where there is no value.
pub(crate) fn or_problem<T>(value: Option<T>, name: &str, problem: &str, problems: &Problems) -> Option<T> {
    if value.is_none() {
        problems.add(name, problem);
    }
    value
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whole_number_has_digits_alone_and_is_in_its_range() {
        let check = |text: &str, expected| assert_eq!(whole_number(text, 1..=100), expected, "{text:?}");
        check("1", Some(1));
        check("100", Some(100));
        check("007", Some(7));
        for text in ["", "0", "101", "+5", "-5", " 5", "5 ", "1.5", "0x5", "٥", "99999999999"] {
            check(text, None);
        }
    }

    #[test]
    fn unknown_parameters_and_fields_are_named() {
        let problems = Problems::default();
        reject_unknown(&ListQuery::of("/events", "limit=1&page=2"), &["limit"], &problems);
        let body = json!({"page": "a", "rules": null, "nested": {"other": 1}});
        let fields = Fields::of_body(&body, &problems).unwrap();
        reject_unknown_fields(&fields, &["page", "nested"]);
        reject_unknown_fields(&fields.object("nested").unwrap(), &["page"]);
        let rejected = problems.into_result(Some(())).unwrap_err();
        assert_eq!(rejected.fields(), ["page", "rules", "nested.other"]);
    }
}
