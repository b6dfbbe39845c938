//! The filters of the media list.

use std::collections::BTreeMap;

use kinora_domain::{MediaId, Timestamp};

use super::list::{CLIPS, CREATOR, ENTRY, FilterIndex, KEY, STATE, TITLE};
use crate::Error;
use crate::list::Bounds;
use crate::sql::{Row, Value, values};

/// The conditions of a media list; a media must meet all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MediaFilter {
    /// The name of the state, as [`kinora_domain::MediaState::name`] spells it.
    pub state: Option<String>,
    /// The creator, exactly.
    pub creator_id: Option<String>,
    /// The beginning of the title; case does not matter.
    pub title_prefix: Option<String>,
    /// A key that the metadata contains.
    pub metadata_key: Option<String>,
    /// Entries of the metadata, exactly. Each key at most once.
    pub metadata: Vec<(String, String)>,
    /// The media that it was cut from.
    pub clip_of: Option<MediaId>,
    /// Created at this instant or later.
    pub created_from: Option<Timestamp>,
    /// Created before this instant.
    pub created_before: Option<Timestamp>,
}

/// A title in the form that is searched for.
pub(crate) fn folded_title(title: &str) -> String {
    stored_text(title).to_lowercase()
}

/// A text in the form that is stored.
fn stored_text(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// One condition of the filter, except creation times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Condition {
    State(String),
    Creator(String),
    /// The beginning of the title, in lower case.
    TitlePrefix(String),
    Key(String),
    Entry(String, String),
    /// The media that it was cut from.
    ClipOf(MediaId),
}

impl MediaFilter {
    pub(super) fn bounds(&self) -> Bounds {
        Bounds::created_between(self.created_from, self.created_before)
    }

    pub(super) fn conditions(&self) -> Vec<Condition> {
        let one =
            |text: &Option<String>, make: fn(String) -> Condition| text.as_deref().map(stored_text).map(make);
        let entries =
            self.metadata.iter().map(|(key, value)| Condition::Entry(stored_text(key), stored_text(value)));
        let title = self.title_prefix.as_deref().map(folded_title).map(Condition::TitlePrefix);
        one(&self.state, Condition::State)
            .into_iter()
            .chain(one(&self.creator_id, Condition::Creator))
            .chain(title)
            .chain(one(&self.metadata_key, Condition::Key))
            .chain(entries)
            .chain(self.clip_of.map(Condition::ClipOf))
            .collect()
    }
}

impl Condition {
    /// The index walk that finds the media of this condition.
    pub(super) fn filter_index(&self) -> FilterIndex {
        match self {
            Self::State(_) => STATE,
            Self::Creator(_) => CREATOR,
            Self::TitlePrefix(_) => TITLE,
            Self::Key(_) => KEY,
            Self::Entry(..) => ENTRY,
            Self::ClipOf(_) => CLIPS,
        }
    }

    /// The values for the statements of its filter index.
    pub(super) fn values(&self) -> Vec<Value> {
        match self {
            Self::State(text) | Self::Creator(text) | Self::Key(text) => values![text.as_str()],
            // The last character there is: every title with this beginning sorts before it.
            Self::TitlePrefix(text) => values![text.as_str(), format!("{text}\u{10ffff}")],
            Self::Entry(key, value) => values![key.as_str(), value.as_str()],
            Self::ClipOf(media) => values![*media],
        }
    }

    /// Whether a row of [`FilterIndex::candidates`] meets the condition.
    pub(super) fn is_met_by(&self, row: &Row) -> Result<bool, Error> {
        let metadata = || -> Result<BTreeMap<String, String>, Error> {
            let Some(text) = row.text_or_none("metadata")? else { return Ok(BTreeMap::new()) };
            let map: BTreeMap<String, String> = serde_json::from_str(&text).map_err(Error::internal)?;
            Ok(map.into_iter().map(|(key, value)| (stored_text(&key), stored_text(&value))).collect())
        };
        Ok(match self {
            Self::State(text) => row.text("state")? == *text,
            Self::Creator(text) => row.text_or_none("creator_id")?.as_ref() == Some(text),
            Self::TitlePrefix(text) => {
                row.text_or_none("title_key")?.is_some_and(|title| title.starts_with(text))
            }
            Self::Key(key) => metadata()?.contains_key(key),
            Self::Entry(key, value) => metadata()?.get(key) == Some(value),
            Self::ClipOf(media) => row.id_or_none("clip_of_id")? == Some(*media),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn title_filter_is_case_insensitive() {
        let check = |title: &str, key: &str| assert_eq!(folded_title(title), key);
        check("Ein TITEL", "ein titel");
        check("ÄRGER ΟΔΟΣ", "ärger οδος");
        check("a\0B", "a\u{fffd}b");
    }

    #[test]
    fn every_filter_field_becomes_a_condition() {
        let text = |text: &str| Some(text.to_owned());
        let media = "019a492c-41f3-7001-8203-040506070809".parse().unwrap();
        let filter = MediaFilter {
            state: text("Ready"),
            creator_id: text("me"),
            title_prefix: text("Ab"),
            metadata_key: text("k"),
            metadata: vec![("a".into(), "b".into())],
            clip_of: Some(media),
            ..MediaFilter::default()
        };
        let own = |text: &str| text.to_owned();
        let expected = [
            Condition::State(own("Ready")),
            Condition::Creator(own("me")),
            Condition::TitlePrefix(own("ab")),
            Condition::Key(own("k")),
            Condition::Entry(own("a"), own("b")),
            Condition::ClipOf(media),
        ];
        assert_eq!(filter.conditions(), expected);
        assert_eq!(MediaFilter::default().conditions(), []);
        assert_eq!(MediaFilter::default().bounds(), Bounds::all());
    }
}
