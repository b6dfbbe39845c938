//! Which media of a workspace are listed.

use std::collections::BTreeMap;

use kinora_domain::Timestamp;

use super::find::{CREATOR, Driver, ENTRY, KEY, STATE, TITLE};
use crate::Error;
use crate::list::Bounds;
use crate::sql::{Row, Value, values};

/// What media must be to be listed; all of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MediaFilter {
    /// The name of their state, as [`kinora_domain::MediaState::name`] has it.
    pub state: Option<String>,
    /// Their creator, exactly.
    pub creator_id: Option<String>,
    /// How their title begins; case does not matter.
    pub title_prefix: Option<String>,
    /// A key that their metadata has.
    pub metadata_key: Option<String>,
    /// Entries of their metadata, exactly. A key comes once.
    pub metadata: Vec<(String, String)>,
    /// They were created at this instant or later.
    pub created_from: Option<Timestamp>,
    /// They were created before this instant.
    pub created_before: Option<Timestamp>,
}

/// A title as it is looked for.
pub(crate) fn title_key(title: &str) -> String {
    kept(title).to_lowercase()
}

/// A text as it is kept.
fn kept(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// One thing that media must be, other than young or old enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Condition {
    State(String),
    Creator(String),
    /// In lower case.
    Title(String),
    Key(String),
    Entry(String, String),
}

impl MediaFilter {
    pub(super) fn bounds(&self) -> Bounds {
        Bounds::created(self.created_from, self.created_before)
    }

    pub(super) fn conditions(&self) -> Vec<Condition> {
        let one = |text: &Option<String>, make: fn(String) -> Condition| text.as_deref().map(kept).map(make);
        let entries = self.metadata.iter().map(|(key, value)| Condition::Entry(kept(key), kept(value)));
        let title = self.title_prefix.as_deref().map(title_key).map(Condition::Title);
        one(&self.state, Condition::State)
            .into_iter()
            .chain(one(&self.creator_id, Condition::Creator))
            .chain(title)
            .chain(one(&self.metadata_key, Condition::Key))
            .chain(entries)
            .collect()
    }
}

impl Condition {
    /// What finds the media that meet it.
    pub(super) fn driver(&self) -> Driver {
        match self {
            Self::State(_) => STATE,
            Self::Creator(_) => CREATOR,
            Self::Title(_) => TITLE,
            Self::Key(_) => KEY,
            Self::Entry(..) => ENTRY,
        }
    }

    /// What the statements of its driver are given.
    pub(super) fn values(&self) -> Vec<Value> {
        match self {
            Self::State(text) | Self::Creator(text) | Self::Key(text) => values![text.as_str()],
            // The last character there is: every title that begins so lies below.
            Self::Title(text) => values![text.as_str(), format!("{text}\u{10ffff}")],
            Self::Entry(key, value) => values![key.as_str(), value.as_str()],
        }
    }

    /// Whether a row of [`Driver::candidates`] meets it.
    pub(super) fn is_met_by(&self, row: &Row) -> Result<bool, Error> {
        let metadata = || -> Result<BTreeMap<String, String>, Error> {
            let Some(text) = row.text_or_none("metadata")? else { return Ok(BTreeMap::new()) };
            let map: BTreeMap<String, String> = serde_json::from_str(&text).map_err(Error::internal)?;
            Ok(map.into_iter().map(|(key, value)| (kept(&key), kept(&value))).collect())
        };
        Ok(match self {
            Self::State(text) => row.text("state")? == *text,
            Self::Creator(text) => row.text_or_none("creator_id")?.as_ref() == Some(text),
            Self::Title(text) => row.text_or_none("title_key")?.is_some_and(|title| title.starts_with(text)),
            Self::Key(key) => metadata()?.contains_key(key),
            Self::Entry(key, value) => metadata()?.get(key) == Some(value),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_looked_for_in_lower_case() {
        let check = |title: &str, key: &str| assert_eq!(title_key(title), key);
        check("Ein TITEL", "ein titel");
        check("ÄRGER ΟΔΟΣ", "ärger οδος");
        check("a\0B", "a\u{fffd}b");
    }

    #[test]
    fn every_wish_is_a_condition() {
        let text = |text: &str| Some(text.to_owned());
        let filter = MediaFilter {
            state: text("Ready"),
            creator_id: text("me"),
            title_prefix: text("Ab"),
            metadata_key: text("k"),
            metadata: vec![("a".into(), "b".into())],
            ..MediaFilter::default()
        };
        let own = |text: &str| text.to_owned();
        let expected = [
            Condition::State(own("Ready")),
            Condition::Creator(own("me")),
            Condition::Title(own("ab")),
            Condition::Key(own("k")),
            Condition::Entry(own("a"), own("b")),
        ];
        assert_eq!(filter.conditions(), expected);
        assert_eq!(MediaFilter::default().conditions(), []);
        assert_eq!(MediaFilter::default().bounds(), Bounds::all());
    }
}
