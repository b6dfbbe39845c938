//! The filters of `GET /on-demand` (D-0069).

use kinora_domain::{MediaSettings, Timestamp};
use kinora_store::MediaFilter;
use kinora_web::fields::Problems;
use kinora_web::pagination::ListQuery;
use kinora_web::parse_timestamp::parse_instant_or_day;

const NAMES: [&str; 6] = ["status", "title", "creatorId", "metadataKey", "createdAfter", "createdBefore"];
/// `metadata[KEY]=VALUE`; the name alone filters nothing.
const METADATA: &str = "metadata";
const TEXT_MAX: usize = MediaSettings::TEXT_MAX;

/// The states of a media in the contract (C-137), in its order. Kinora never stores some of them. A filter
/// by one of those is valid and returns an empty list, from the index of states.
pub(super) const STATUSES: [&str; 8] =
    ["Created", "Downloading", "Downloaded", "Validating", "In Queue", "Processing", "Ready", "Failed"];

/// Whether a parameter of this name is a filter.
pub(super) fn is_filter(name: &str) -> bool {
    NAMES.contains(&name) || name == METADATA || name.starts_with("metadata[")
}

/// Parses the filters. An error names its parameter.
pub(super) fn parse(query: &ListQuery, problems: &Problems) -> MediaFilter {
    let filter = MediaFilter {
        clip_of: None,
        state: status(query, problems),
        title_prefix: text(query, "title", 1, problems),
        creator_id: text(query, "creatorId", 0, problems),
        metadata_key: text(query, "metadataKey", 0, problems),
        metadata: metadata(query, problems),
        created_from: time_filter(query, "createdAfter", problems),
        created_before: time_filter(query, "createdBefore", problems),
    };
    if let (Some(from), Some(before)) = (filter.created_from, filter.created_before)
        && before <= from
    {
        problems.add("createdBefore", "must be later than createdAfter");
    }
    filter
}

fn status(query: &ListQuery, problems: &Problems) -> Option<String> {
    let word = query.single_value("status", problems)?;
    if !STATUSES.contains(&word) {
        problems.add("status", format!("must be one of {}", STATUSES.join(", ")));
        return None;
    }
    Some(word.to_owned())
}

fn text(query: &ListQuery, name: &str, min: usize, problems: &Problems) -> Option<String> {
    let text = query.single_value(name, problems)?;
    if text.chars().count() < min {
        problems.add(name, "must not be empty; leave it out to list all");
        return None;
    }
    check_text_length(name, text, problems).then(|| text.to_owned())
}

fn check_text_length(name: &str, text: &str, problems: &Problems) -> bool {
    let is_short = text.chars().count() <= TEXT_MAX;
    if !is_short {
        problems.add(name, format!("must have at most {TEXT_MAX} characters"));
    }
    is_short
}

fn metadata(query: &ListQuery, problems: &Problems) -> Vec<(String, String)> {
    let mut entries: Vec<(String, String)> = Vec::new();
    for (name, value) in query.pairs.iter().filter(|(name, _)| name.starts_with(METADATA)) {
        let rest = &name[METADATA.len()..];
        if !(rest.is_empty() || rest.starts_with('[')) {
            continue;
        }
        let key = rest.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let Some(key) = key else {
            problems.add(
                METADATA,
                "must have the form metadata[KEY]=VALUE; for a key with any value, use metadataKey=KEY",
            );
            continue;
        };
        if key.chars().count() > TEXT_MAX {
            problems.add(METADATA, format!("must have keys of at most {TEXT_MAX} characters"));
        } else if entries.iter().any(|(existing, _)| existing == key) {
            problems.add(name, "must be given once");
        } else if check_text_length(name, value, problems) {
            entries.push((key.to_owned(), value.clone()));
        }
    }
    if entries.len() > MediaSettings::METADATA_ENTRIES_MAX {
        problems.add(METADATA, format!("must have at most {} keys", MediaSettings::METADATA_ENTRIES_MAX));
    }
    entries
}

fn time_filter(query: &ListQuery, name: &str, problems: &Problems) -> Option<Timestamp> {
    let text = query.single_value(name, problems)?;
    let instant = parse_instant_or_day(text);
    if instant.is_none() {
        problems.add(
            name,
            "must be a time such as 2025-11-03T10:03:48Z, or a date such as 2025-11-03; encode a plus sign as %2B",
        );
    }
    instant
}

#[cfg(test)]
mod tests;
