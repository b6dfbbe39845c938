//! The query of the audit log: filters, page size and cursor.

use kinora_domain::{AuditAction, PersonId, Timestamp};
use kinora_store::{AuditFilter, AuditPosition};
use kinora_web::error::ApiError;
use kinora_web::fields::Problems;
use kinora_web::pagination::ListQuery;
use kinora_web::parse_timestamp::parse_instant;

use crate::parameters::{or_problem, reject_unknown, whole_number};

/// Entries of a page.
const LIMIT_DEFAULT: u32 = 50;
const LIMIT_MAX: u32 = 100;
/// Longest ID of an object, in characters.
const OBJECT_CHARS_MAX: usize = 256;
/// The names of filters.
const FILTERS: [&str; 5] = ["action", "actor", "object", "from", "to"];
/// The names of a page.
const PAGE: [&str; 2] = ["limit", "cursor"];
/// Actors without an ID.
const ACTORS: [&str; 3] = ["command", "server", "anonymous"];

/// A page of the audit log.
#[derive(Debug)]
pub(crate) struct AuditQuery {
    pub(crate) filter: AuditFilter,
    pub(crate) after: Option<AuditPosition>,
    pub(crate) limit: u32,
}

impl AuditQuery {
    /// Parses filters and page. 422 names each invalid parameter, and each unknown one: a misspelled filter
    /// would show entries that were not asked for.
    pub(crate) fn of_page(query: &ListQuery) -> Result<Self, ApiError> {
        let problems = Problems::default();
        reject_unknown(query, &[&FILTERS[..], &PAGE].concat(), &problems);
        let limit = query.single_value("limit", &problems).and_then(|text| {
            let limit = whole_number(text, 1..=LIMIT_MAX);
            or_problem(limit, "limit", &format!("must be a whole number from 1 to {LIMIT_MAX}"), &problems)
        });
        let after = query.single_value("cursor", &problems).and_then(|text| {
            let problem = "is not a valid cursor; leave it out to start with the newest entry";
            or_problem(position_of(text), "cursor", problem, &problems)
        });
        let filter = filter(query, &problems);
        problems.into_result(Some(Self { filter, after, limit: limit.unwrap_or(LIMIT_DEFAULT) }))
    }

    /// Parses the filters of an export, which has no pages.
    pub(crate) fn filter_of_export(query: &ListQuery) -> Result<AuditFilter, ApiError> {
        let problems = Problems::default();
        reject_unknown(query, &FILTERS, &problems);
        let filter = filter(query, &problems);
        problems.into_result(Some(filter))
    }
}

/// The cursor of a position: its bytes in hexadecimal digits.
pub(crate) fn cursor_of(position: AuditPosition) -> String {
    format!("{:032x}", u128::from_be_bytes(position.to_bytes()))
}

fn position_of(cursor: &str) -> Option<AuditPosition> {
    let has_digits = cursor.len() == 32 && cursor.bytes().all(|byte| byte.is_ascii_hexdigit());
    let bytes = has_digits.then(|| u128::from_str_radix(cursor, 16).ok())??.to_be_bytes();
    Some(AuditPosition::from_bytes(bytes))
}

fn filter(query: &ListQuery, problems: &Problems) -> AuditFilter {
    let value = |name| query.single_value(name, problems);
    let actions = value("action").map(|text| {
        let actions = AuditAction::matching(text);
        if actions.is_empty() {
            let problem = "must be an action such as person.created, or a group such as access_token";
            problems.add("action", problem);
        }
        actions
    });
    let actor = value("actor").and_then(|text| {
        let actor = if ACTORS.contains(&text) { Some(text.to_owned()) } else { id_text(text) };
        let problem = format!("must be the id of a person or an access token, or {}", ACTORS.join(", "));
        or_problem(actor, "actor", &problem, problems)
    });
    let object = value("object").and_then(|text| {
        let length = text.chars().count();
        let is_valid = (1..=OBJECT_CHARS_MAX).contains(&length) && !text.chars().any(char::is_control);
        let object = is_valid.then(|| id_text(text).unwrap_or_else(|| text.to_owned()));
        or_problem(object, "object", "must be the id of an object", problems)
    });
    let time = |name| -> Option<Timestamp> {
        let problem = "must be a time such as 2026-11-25T09:14:02Z";
        or_problem(parse_instant(value(name)?), name, problem, problems)
    };
    let (from, to) = (time("from"), time("to"));
    AuditFilter { actions: actions.unwrap_or_default(), actor, object, from, to }
}

/// An ID as rows have it: in lower case.
fn id_text(text: &str) -> Option<String> {
    // All IDs have the same form.
    text.parse::<PersonId>().ok().map(|id| id.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(query: &str) -> Result<AuditQuery, Vec<String>> {
        let parsed = AuditQuery::of_page(&ListQuery::of("/audit", query));
        parsed.map_err(|error| error.fields().into_iter().map(str::to_owned).collect())
    }

    #[test]
    fn page_has_50_entries_unless_the_limit_says_otherwise() {
        assert_eq!(page("").unwrap().limit, 50);
        assert_eq!(page("limit=1").unwrap().limit, 1);
        assert_eq!(page("limit=100").unwrap().limit, 100);
        for limit in ["0", "101", "-1", "%2B1", "1.5", "x", ""] {
            assert_eq!(page(&format!("limit={limit}")).unwrap_err(), ["limit"]);
        }
    }

    #[test]
    fn cursor_is_the_position_again() {
        let position = AuditPosition { at: Timestamp::from_micros(1_762_164_228_595_604), sequence: 17 };
        let cursor = cursor_of(position);
        assert_eq!(page(&format!("cursor={cursor}")).unwrap().after, Some(position));
        for cursor in ["", "last", &cursor[1..], &format!("+{}", &cursor[1..]), &format!("{cursor}0")] {
            assert_eq!(position_of(cursor), None, "{cursor}");
        }
    }

    #[test]
    fn invalid_and_unknown_parameters_are_named() {
        let check =
            |query: &str, expected: &[&str]| assert_eq!(page(query).unwrap_err(), expected, "{query}");
        check(
            "action=person.flew&actor=me&object=&from=now&to=2026",
            &["action", "actor", "object", "from", "to"],
        );
        check("actions=person.created", &["actions"]);
        check("cursor=last", &["cursor"]);
        check("object=a%00", &["object"]);
        check("action=person&action=link", &["action"]);
        check("from=2026-11-25", &["from"]);
        let export = AuditQuery::filter_of_export(&ListQuery::of("/audit.jsonl", "limit=2&action=person"));
        assert_eq!(export.unwrap_err().fields(), ["limit"]);
    }

    #[test]
    fn filters_are_actions_actor_object_and_times() {
        let id = "019a492c-41f3-7001-8203-040506070809";
        let query = format!(
            "action=access_token.created&actor={id}&object=a&from=2026-11-25T09:14:02Z&to=2026-11-25T10:14:02%2B01:00"
        );
        let AuditFilter { actions, actor, object, from, to } = page(&query).unwrap().filter;
        assert_eq!(actions, [AuditAction::AccessTokenCreated]);
        assert_eq!((actor.as_deref(), object.as_deref()), (Some(id), Some("a")));
        assert_eq!(from, to);
        assert!(from.is_some());
        assert_eq!(page("actor=server").unwrap().filter.actor.as_deref(), Some("server"));
        assert!(page("action=person").unwrap().filter.actions.contains(&AuditAction::SignedIn));
    }
}
