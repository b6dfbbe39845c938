//! The edit of a timeline, as JSON in a row (D-0135).

use std::time::Duration;

use kinora_domain::{BaseRange, Insert, InsertPoint, TimelineEdit};
use serde::{Deserialize, Serialize};

use crate::Error;

/// Times are in microseconds.
#[derive(Serialize, Deserialize)]
pub(crate) struct TimelineEditJson {
    #[serde(default, skip_serializing_if = "is_zero")]
    start: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    end: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    removed: Vec<[u64; 2]>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    inserts: Vec<InsertJson>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    intro: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    outro: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct InsertJson {
    url: String,
    /// `None`: the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<u64>,
}

impl TimelineEditJson {
    /// The JSON of an edit; `None` for none.
    pub(crate) fn text(edit: Option<&TimelineEdit>) -> Option<String> {
        edit.map(|edit| serde_json::to_string(&Self::from(edit)).expect("texts and numbers are always JSON"))
    }

    pub(crate) fn read(text: Option<String>) -> Result<Option<TimelineEdit>, Error> {
        let read =
            text.map(|text| serde_json::from_str::<Self>(&text)).transpose().map_err(Error::internal)?;
        Ok(read.map(TimelineEdit::from))
    }
}

impl From<&TimelineEdit> for TimelineEditJson {
    fn from(edit: &TimelineEdit) -> Self {
        let insert = |insert: &Insert| {
            let at = match insert.at {
                InsertPoint::Time(at) => Some(micros(at)),
                InsertPoint::End => None,
            };
            InsertJson { url: insert.url.clone(), at }
        };
        Self {
            start: micros(edit.start),
            end: edit.end.map(micros),
            removed: edit.removed.iter().map(|range| [micros(range.start), micros(range.end)]).collect(),
            inserts: edit.inserts.iter().map(insert).collect(),
            intro: edit.intro.clone(),
            outro: edit.outro.clone(),
        }
    }
}

impl From<TimelineEditJson> for TimelineEdit {
    fn from(json: TimelineEditJson) -> Self {
        let insert = |insert: InsertJson| {
            let at = insert.at.map_or(InsertPoint::End, |at| InsertPoint::Time(Duration::from_micros(at)));
            Insert { url: insert.url, at }
        };
        let range = |[start, end]: [u64; 2]| Duration::from_micros(start)..Duration::from_micros(end);
        Self {
            start: Duration::from_micros(json.start),
            end: json.end.map(Duration::from_micros),
            removed: json.removed.into_iter().map(range).collect(),
            inserts: json.inserts.into_iter().map(insert).collect(),
            intro: json.intro,
            outro: json.outro,
        }
    }
}

/// Where the ranges of a base play: start and end on the base, start on the timeline, in microseconds.
pub(crate) struct BaseRangesJson;

impl BaseRangesJson {
    /// The JSON of the ranges; `None` for none.
    pub(crate) fn text(ranges: &[BaseRange]) -> Option<String> {
        let numbers: Vec<_> = ranges
            .iter()
            .map(|range| [micros(range.base.start), micros(range.base.end), micros(range.at)])
            .collect();
        (!numbers.is_empty()).then(|| serde_json::to_string(&numbers).expect("numbers are always JSON"))
    }

    pub(crate) fn read(text: Option<String>) -> Result<Vec<BaseRange>, Error> {
        let Some(text) = text else { return Ok(Vec::new()) };
        let numbers: Vec<[u64; 3]> = serde_json::from_str(&text).map_err(Error::internal)?;
        let range = |[start, end, at]: [u64; 3]| BaseRange {
            base: Duration::from_micros(start)..Duration::from_micros(end),
            at: Duration::from_micros(at),
        };
        Ok(numbers.into_iter().map(range).collect())
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde needs")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
