//! The body of the operations on the media of a playlist (C-174).

use std::collections::HashSet;

use kinora_domain::{MediaId, ParseIdError, Playlist};
use kinora_web::error::ApiError;
use kinora_web::fields::{Fields, Problems};
use serde_json::Value;

/// The only field of the body.
pub(super) const MEDIA_IDS: &str = "mediaIds";
/// Most ids of a request: the reorder operation lists all media of a playlist.
pub(super) const MEDIA_IDS_MAX: usize = Playlist::ITEMS_MAX as usize;

/// The ids, without duplicates, at least `min` of them.
pub(super) fn media_ids(body: &Value, min: usize) -> Result<Vec<MediaId>, ApiError> {
    let problems = Problems::default();
    let ids = Fields::of_body(body, &problems).and_then(|fields| parse_ids(&fields, min));
    problems.into_result(ids)
}

fn parse_ids(fields: &Fields<'_>, min: usize) -> Option<Vec<MediaId>> {
    if !fields.is_present(MEDIA_IDS) {
        fields.reject(MEDIA_IDS, "must not be null");
    }
    let items = fields.list(MEDIA_IDS)?;
    if !(min..=MEDIA_IDS_MAX).contains(&items.len()) {
        fields.reject(MEDIA_IDS, format!("must have {min} to {MEDIA_IDS_MAX} items"));
        return None;
    }
    let (mut ids, mut seen) = (Vec::with_capacity(items.len()), HashSet::new());
    for (at, item) in items.iter().enumerate() {
        let id = item.as_str().map(str::parse::<MediaId>).unwrap_or(Err(ParseIdError));
        match id {
            Ok(id) if seen.insert(id) => ids.push(id),
            Ok(_) => fields.reject(&format!("{MEDIA_IDS}[{at}]"), "must not be named twice"),
            Err(error) => fields.reject(&format!("{MEDIA_IDS}[{at}]"), error.to_string()),
        }
    }
    Some(ids)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn id(number: usize) -> String {
        format!("019a4946-bdd3-7001-8203-{number:012}")
    }

    #[test]
    fn media_ids_are_bounded_and_unique() {
        let all: Vec<_> = (0..MEDIA_IDS_MAX).map(id).collect();
        let read = media_ids(&json!({"mediaIds": all, "other": 1}), 1).unwrap();
        assert_eq!(read.iter().map(ToString::to_string).collect::<Vec<_>>(), all);
        assert_eq!(media_ids(&json!({"mediaIds": []}), 0).unwrap(), []);
        let more: Vec<_> = (0..=MEDIA_IDS_MAX).map(id).collect();
        for (body, path) in [
            (json!([]), "body"),
            (json!({}), "mediaIds"),
            (json!({"mediaIds": null}), "mediaIds"),
            (json!({"mediaIds": id(1)}), "mediaIds"),
            (json!({"mediaIds": []}), "mediaIds"),
            (json!({"mediaIds": more}), "mediaIds"),
            (json!({"mediaIds": [id(1), 7]}), "mediaIds[1]"),
            (json!({"mediaIds": ["42"]}), "mediaIds[0]"),
            (json!({"mediaIds": [id(1), id(2), id(1)]}), "mediaIds[2]"),
            (json!({"mediaIds": [id(1), null]}), "mediaIds[1]"),
        ] {
            let refused = media_ids(&body, 1).err().unwrap_or_else(|| panic!("accepted: {body}"));
            let error_text = format!("{refused:?}");
            assert!(error_text.contains(&format!("field: \"{path}\"")), "{body}: {error_text}");
        }
    }
}
