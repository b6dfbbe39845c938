//! The bodies that create and rename a playlist (C-171, C-173).

use kinora_domain::{Day, DayRange, NewPlaylist, PlayOrder, Playlist, SmartRules, WorkspaceId};
use kinora_web::error::ApiError;
use kinora_web::fields::{Fields, Problems};
use serde_json::Value;

/// The texts of a playlist that viewers see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PlaylistText {
    pub(super) name: String,
    pub(super) description: String,
}

/// The body of `PUT`: both fields are required.
pub(super) fn parse_update(body: &Value) -> Result<PlaylistText, ApiError> {
    let problems = Problems::default();
    let text = Fields::of_body(body, &problems).and_then(|fields| {
        let (name, description) = (non_empty(&fields, "name"), required_text(&fields, "description"));
        Some(PlaylistText { name: name?, description: description? })
    });
    problems.into_result(text)
}

/// The body of `POST`.
pub(super) fn parse_new(body: &Value, workspace: WorkspaceId) -> Result<NewPlaylist, ApiError> {
    let problems = Problems::default();
    let new = Fields::of_body(body, &problems).and_then(|fields| {
        let (name, reference_id) = (non_empty(&fields, "name"), non_empty(&fields, "referenceId"));
        let (description, limit) = (optional_text(&fields, "description"), limit(&fields));
        let smart = smart(&fields);
        Some(NewPlaylist {
            workspace,
            name: name?,
            reference_id: reference_id?,
            description,
            limit: limit?,
            smart: smart?,
        })
    });
    problems.into_result(new)
}

fn optional_text(fields: &Fields<'_>, name: &str) -> String {
    fields.stored_text(name, Playlist::TEXT_MAX).unwrap_or_default()
}

fn required_text(fields: &Fields<'_>, name: &str) -> Option<String> {
    if !fields.is_present(name) {
        fields.reject(name, "must not be null");
        return None;
    }
    Some(optional_text(fields, name))
}

fn non_empty(fields: &Fields<'_>, name: &str) -> Option<String> {
    let text = required_text(fields, name)?;
    // A value of another type was already rejected.
    if text.trim().is_empty() && fields.text(name, Playlist::TEXT_MAX).is_some() {
        fields.reject(name, "must not be empty");
        return None;
    }
    Some(text)
}

fn limit(fields: &Fields<'_>) -> Option<u32> {
    if !fields.is_present("limit") {
        return Some(Playlist::ITEMS_MAX);
    }
    let number = fields.number("limit")?;
    let limit = (1..=Playlist::ITEMS_MAX).find(|limit| f64::from(*limit) == number);
    if limit.is_none() {
        fields.reject("limit", format!("must be a whole number from 1 to {}", Playlist::ITEMS_MAX));
    }
    limit
}

/// The rules of a smart playlist, `Some(None)` for a manual one, `None` when a field is wrong.
#[expect(clippy::option_option, reason = "an invalid field and an absent one differ")]
fn smart(fields: &Fields<'_>) -> Option<Option<SmartRules>> {
    if !fields.is_present("type") {
        fields.reject("type", "must not be null");
        return None;
    }
    let is_smart = fields.one_of("type", &["manual", "smart"], |word| Some(word == "smart"))?;
    if is_smart {
        return rules(fields).map(Some);
    }
    let mut has_no_rules = true;
    for name in ["playOrder", "metadata"] {
        if fields.is_present(name) {
            fields.reject(name, "must be left out: only smart playlists have rules");
            has_no_rules = false;
        }
    }
    has_no_rules.then_some(None)
}

fn rules(fields: &Fields<'_>) -> Option<SmartRules> {
    for name in ["playOrder", "metadata"] {
        if !fields.is_present(name) {
            fields.reject(name, "must not be null");
        }
    }
    let orders = PlayOrder::ALL.map(PlayOrder::as_str);
    let order = fields.one_of("playOrder", &orders, PlayOrder::from_text);
    let metadata = fields.object("metadata")?;
    let (created, updated) = (day_range(&metadata, "createdDate"), day_range(&metadata, "updatedDate"));
    if !metadata.is_present("createdDate") && !metadata.is_present("updatedDate") {
        fields.reject("metadata", "must have createdDate or updatedDate");
    }
    Some(SmartRules { order: order?, created: created?, updated: updated? })
}

fn day_range(metadata: &Fields<'_>, name: &str) -> Option<DayRange> {
    if !metadata.is_present(name) {
        return Some(DayRange::default());
    }
    let range = metadata.object(name)?;
    if ["startDate", "endDate"].iter().all(|name| !range.is_present(name)) {
        metadata.reject(name, "must have startDate or endDate");
        return None;
    }
    let (first, last) = (day(&range, "startDate"), day(&range, "endDate"));
    let (first, last) = (first?, last?);
    if let (Some(first), Some(last)) = (first, last)
        && last < first
    {
        range.reject("endDate", format!("must not be before startDate, {first}"));
        return None;
    }
    Some(DayRange { first, last })
}

/// A day; `Some(None)` when it was not sent, `None` when it is wrong.
#[expect(clippy::option_option, reason = "an invalid field and an absent one differ")]
fn day(range: &Fields<'_>, name: &str) -> Option<Option<Day>> {
    /// Longest text of a day, in characters.
    const TEXT_MAX: usize = 10;
    if !range.is_present(name) {
        return Some(None);
    }
    let day = Day::from_text(range.text(name, TEXT_MAX)?);
    if day.is_none() {
        range.reject(name, "must be a day such as 2025-11-03");
    }
    day.map(Some)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(body: &Value) -> Result<NewPlaylist, ApiError> {
        parse_new(body, "019a4946-bdd3-7001-8203-040506070809".parse().unwrap())
    }

    #[test]
    fn manual_and_smart_playlists_parse_within_bounds() {
        let manual = parse(&json!({"name": "N", "referenceId": "r", "type": "manual", "x": 1})).unwrap();
        assert_eq!((manual.limit, manual.smart, manual.description.as_str()), (1000, None, ""));
        let long = "é".repeat(255);
        let smart = parse(&json!({"name": long, "referenceId": long, "description": long, "type": "smart", "limit": 1,
            "playOrder": "createdDate DESC", "metadata": {"createdDate": {"startDate": "2025-11-03", "endDate": "2025-11-03"},
            "updatedDate": {"endDate": "2025-12-31"}}}))
        .unwrap();
        assert_eq!((smart.limit, smart.name.as_str(), smart.reference_id.as_str()), (1, &*long, &*long));
        let day = Day::from_text("2025-11-03");
        let rules = SmartRules {
            order: PlayOrder::NewestFirst,
            created: DayRange { first: day, last: day },
            updated: DayRange { first: None, last: Day::from_text("2025-12-31") },
        };
        assert_eq!(smart.smart, Some(rules));
        for limit in [json!(1), json!(1000), json!(1000.0)] {
            let body = json!({"name": "N", "referenceId": "r", "type": "manual", "limit": limit});
            assert!(parse(&body).is_ok(), "{body}");
        }
    }

    #[test]
    fn invalid_fields_are_named_by_path() {
        let long = "x".repeat(256);
        let check = |change: Value, path: &str| {
            let mut body = json!({"name": "N", "referenceId": "r", "type": "smart", "playOrder": "createdDate ASC",
                "metadata": {"createdDate": {"startDate": "2025-11-03"}}});
            let Value::Object(change) = change else { panic!("fields are an object") };
            body.as_object_mut().unwrap().extend(change);
            let refused = parse(&body).err().unwrap_or_else(|| panic!("accepted: {body}"));
            let error_text = format!("{refused:?}");
            assert!(error_text.contains(&format!("field: \"{path}\"")), "{body}: {error_text}");
        };
        for name in ["name", "referenceId"] {
            for wrong in [json!(null), json!(""), json!(" "), json!(7), json!(long)] {
                check(json!({name: wrong}), name);
            }
        }
        check(json!({"description": long}), "description");
        check(json!({"description": []}), "description");
        for limit in [json!(0), json!(1001), json!(1.5), json!(-1), json!("10"), json!(1e300)] {
            check(json!({"limit": limit}), "limit");
        }
        for kind in [json!(null), json!("Manual"), json!(1)] {
            check(json!({"type": kind}), "type");
        }
        check(json!({"type": "manual"}), "playOrder");
        check(json!({"type": "manual", "playOrder": null}), "metadata");
        for order in [json!(null), json!("createdDate"), json!("updatedDate ASC"), json!("createdDate asc")] {
            check(json!({"playOrder": order}), "playOrder");
        }
        for metadata in [json!(null), json!([]), json!({}), json!({"createdDate": null})] {
            check(json!({"metadata": metadata}), "metadata");
        }
        for range in ["createdDate", "updatedDate"] {
            check(json!({"metadata": {range: {}}}), &format!("metadata.{range}"));
            check(json!({"metadata": {range: "2025-11-03"}}), &format!("metadata.{range}"));
            for day in
                [json!("2025-11-3"), json!("2025-02-30"), json!(20251103), json!("2025-11-03T00:00:00Z")]
            {
                for end in ["startDate", "endDate"] {
                    check(json!({"metadata": {range: {end: day}}}), &format!("metadata.{range}.{end}"));
                }
            }
            let turned = json!({"startDate": "2025-11-04", "endDate": "2025-11-03"});
            check(json!({"metadata": {range: turned}}), &format!("metadata.{range}.endDate"));
        }
    }

    #[test]
    fn update_replaces_name_and_description() {
        let read = |body: Value| parse_update(&body);
        let updated = read(json!({"name": "a\0b", "description": ""})).unwrap();
        assert_eq!((updated.name.as_str(), updated.description.as_str()), ("a\u{fffd}b", ""));
        for (body, path) in [
            (json!({"name": "N"}), "description"),
            (json!({"name": "N", "description": null}), "description"),
            (json!({"name": "N", "description": "x".repeat(256)}), "description"),
            (json!({"description": "D"}), "name"),
            (json!({"name": "", "description": "D"}), "name"),
            (json!("x"), "body"),
        ] {
            let error_text = format!("{:?}", read(body.clone()).unwrap_err());
            assert!(error_text.contains(&format!("field: \"{path}\"")), "{body}: {error_text}");
        }
    }
}
