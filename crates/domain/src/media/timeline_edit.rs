//! The edit of a media's timeline before it is ready: a range of its file, ranges that are removed, and
//! other files that are inserted (C-194).
//!
//! All times are on the timeline of the base, which is the file before any edit. The edits apply in this
//! order: start and end, removed ranges, inserted files, intro and outro (C-195).

use std::ops::Range;
use std::time::Duration;

/// The edit of the timeline. The default plays the base as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TimelineEdit {
    /// Start of the range of the base that plays (`startTime`).
    pub start: Duration,
    /// Its end (`endTime`); `None`: the end of the base.
    pub end: Option<Duration>,
    /// Ranges that are removed (`expungeSegments`), in any order.
    pub removed: Vec<Range<Duration>>,
    /// Files that are inserted (`segments`), in the order of the request.
    pub inserts: Vec<Insert>,
    /// The URL of a file that plays before everything else (`introUrl`).
    pub intro: Option<String>,
    /// The URL of a file that plays after everything else (`outroUrl`).
    pub outro: Option<String>,
}

/// A file that is inserted into the timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Insert {
    /// Its URL.
    pub url: String,
    /// Its place.
    pub at: InsertPoint,
}

/// The place of an inserted file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InsertPoint {
    /// Before the frame at this time of the base (`insertAt`). In a removed range: where that range was.
    Time(Duration),
    /// After the base (`insertAtEnd`).
    End,
}

/// Where a range of the base plays. Times in the file of a subtitle input are times of the base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseRange {
    /// The range of the base.
    pub base: Range<Duration>,
    /// Its start on the edited timeline.
    pub at: Duration,
}

/// A part of the edited timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TimelinePart<'a> {
    /// A range of the base.
    Base(Range<Duration>),
    /// A whole file.
    File {
        /// Its URL.
        url: &'a str,
        /// Its role.
        role: FileRole,
    },
}

/// The role of a file in an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileRole {
    /// The intro.
    Intro,
    /// The outro.
    Outro,
    /// The inserted file with this number, counted from 0.
    Insert(usize),
}

impl FileRole {
    /// The path of its URL in the video input of a request.
    pub fn field(self) -> String {
        match self {
            Self::Intro => "introUrl".to_owned(),
            Self::Outro => "outroUrl".to_owned(),
            Self::Insert(number) => format!("segments[{number}].url"),
        }
    }
}

/// Why an edit cannot apply to a base: the field of the request, and a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} {problem}")]
pub struct EditRejected {
    /// The path of the field in the video input.
    pub field: String,
    /// The problem, to follow the name of the field.
    pub problem: String,
}

impl TimelineEdit {
    /// Most parts of the edited timeline (C-194, D-0138).
    pub const PARTS_MAX: usize = 30;
    /// Latest time that a client can set: three days, the longest media that is cut into segments.
    pub const TIME_MAX: Duration = Duration::from_secs(3 * 24 * 60 * 60);

    /// Whether the base plays as it is.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The files besides the base: intro, inserted files in the order of the request, outro.
    pub fn files(&self) -> impl Iterator<Item = (&str, FileRole)> {
        let intro = self.intro.iter().map(|url| (url.as_str(), FileRole::Intro));
        let inserts =
            (0..).zip(&self.inserts).map(|(number, insert)| (insert.url.as_str(), FileRole::Insert(number)));
        let outro = self.outro.iter().map(|url| (url.as_str(), FileRole::Outro));
        intro.chain(inserts).chain(outro)
    }

    /// Checks everything that does not depend on the duration of the base.
    pub fn check(&self) -> Result<(), EditRejected> {
        self.parts(None).map(drop)
    }

    /// The parts of the edited timeline, in order: at least one is of the base. `base`: the duration of the
    /// base, if it is known.
    pub fn parts(&self, base: Option<Duration>) -> Result<Vec<TimelinePart<'_>>, EditRejected> {
        let base_end = base.unwrap_or(Duration::MAX);
        self.check_range(base_end)?;
        let end = self.end.unwrap_or(Duration::MAX).min(base_end);
        let removed = self.checked_removed(base_end)?;
        let mut inserts: Vec<(Duration, usize)> = Vec::new();
        for (number, insert) in self.inserts.iter().enumerate() {
            inserts.push((self.insert_time(number, insert.at, base_end)?.unwrap_or(end), number));
        }
        inserts.sort_by_key(|(at, number)| (*at, *number));
        let mut parts = Vec::new();
        let mut from = self.start;
        for (at, number) in inserts {
            push_kept(&mut parts, from..at, &removed);
            from = from.max(at);
            let role = FileRole::Insert(number);
            parts.push(TimelinePart::File { url: &self.inserts[number].url, role });
        }
        push_kept(&mut parts, from..end, &removed);
        if !parts.iter().any(|part| matches!(part, TimelinePart::Base(_))) {
            return Err(rejected("expungeSegments", "leaves nothing of the media"));
        }
        let file = |url, role| TimelinePart::File { url, role };
        if let Some(url) = &self.intro {
            parts.insert(0, file(url, FileRole::Intro));
        }
        if let Some(url) = &self.outro {
            parts.push(file(url, FileRole::Outro));
        }
        if Self::PARTS_MAX < parts.len() {
            let field = if self.inserts.len() < self.removed.len() { "expungeSegments" } else { "segments" };
            let problem =
                format!("makes {} parts of the media; at most {} are allowed", parts.len(), Self::PARTS_MAX);
            return Err(rejected(field, problem));
        }
        Ok(parts)
    }

    fn check_range(&self, base_end: Duration) -> Result<(), EditRejected> {
        if base_end <= self.start {
            return Err(outside("startTime", base_end));
        }
        match self.end {
            Some(end) if end <= self.start => Err(rejected("endTime", "must be later than startTime")),
            _ => Ok(()),
        }
    }

    /// The removed ranges by start.
    fn checked_removed(&self, base_end: Duration) -> Result<Vec<Range<Duration>>, EditRejected> {
        let field = |number: usize| format!("expungeSegments[{number}]");
        let mut removed: Vec<_> = self.removed.iter().cloned().enumerate().collect();
        removed.sort_by_key(|(_, range)| range.start);
        for (number, range) in &removed {
            if range.end <= range.start {
                return Err(rejected(field(*number), "must end later than it starts"));
            }
            if base_end <= range.start {
                return Err(outside(&field(*number), base_end));
            }
        }
        for pair in removed.windows(2) {
            if let [(_, before), (number, range)] = pair
                && range.start < before.end
            {
                return Err(rejected(field(*number), "must not overlap another range"));
            }
        }
        Ok(removed.into_iter().map(|(_, range)| range).collect())
    }

    /// The time of an insert; `None`: the end.
    fn insert_time(
        &self,
        number: usize,
        at: InsertPoint,
        base_end: Duration,
    ) -> Result<Option<Duration>, EditRejected> {
        let InsertPoint::Time(at) = at else { return Ok(None) };
        let field = format!("segments[{number}].insertAt");
        if at < self.start || self.end.is_some_and(|end| end < at) {
            return Err(rejected(field, "must be between startTime and endTime"));
        }
        if base_end < at {
            return Err(outside(&field, base_end));
        }
        Ok(Some(at))
    }
}

/// Adds a range of the base without the removed ranges.
fn push_kept(parts: &mut Vec<TimelinePart<'_>>, range: Range<Duration>, removed: &[Range<Duration>]) {
    let mut from = range.start;
    for removed in removed {
        if from < removed.start.min(range.end) {
            parts.push(TimelinePart::Base(from..removed.start.min(range.end)));
        }
        from = from.max(removed.end);
    }
    if from < range.end {
        parts.push(TimelinePart::Base(from..range.end));
    }
}

fn rejected(field: impl Into<String>, problem: impl Into<String>) -> EditRejected {
    EditRejected { field: field.into(), problem: problem.into() }
}

fn outside(field: &str, base_end: Duration) -> EditRejected {
    rejected(field, format!("is behind the end of the media, which lasts {:.3} s", base_end.as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    fn insert(at: InsertPoint) -> Insert {
        Insert { url: "https://example.com/insert.mp4".into(), at }
    }

    fn base(from: f64, to: f64) -> TimelinePart<'static> {
        TimelinePart::Base(s(from)..s(to))
    }

    fn file(number: usize) -> TimelinePart<'static> {
        TimelinePart::File { url: "https://example.com/insert.mp4", role: FileRole::Insert(number) }
    }

    #[test]
    fn edits_apply_in_their_order() {
        let edit = TimelineEdit {
            start: s(2.0),
            end: Some(s(20.0)),
            removed: vec![s(12.0)..s(13.5), s(3.0)..s(7.5)],
            inserts: vec![
                insert(InsertPoint::End),
                insert(InsertPoint::Time(s(10.0))),
                insert(InsertPoint::Time(s(5.0))),
                insert(InsertPoint::Time(s(10.0))),
            ],
            intro: Some("https://example.com/intro.mp4".into()),
            outro: Some("https://example.com/outro.mp4".into()),
        };
        let intro = TimelinePart::File { url: "https://example.com/intro.mp4", role: FileRole::Intro };
        let outro = TimelinePart::File { url: "https://example.com/outro.mp4", role: FileRole::Outro };
        let (head, tail) = ([intro, base(2.0, 3.0), file(2)], [file(0), outro]);
        let middle = [base(7.5, 10.0), file(1), file(3), base(10.0, 12.0), base(13.5, 18.25)];
        let expected = head.into_iter().chain(middle).chain(tail).collect::<Vec<_>>();
        assert_eq!(edit.parts(Some(s(18.25))).unwrap(), expected);
        let fields: Vec<_> = edit.files().map(|(_, role)| role.field()).collect();
        let inserts = (0..4).map(|number| format!("segments[{number}].url"));
        let expected: Vec<_> =
            std::iter::once("introUrl".to_owned()).chain(inserts).chain(["outroUrl".to_owned()]).collect();
        assert_eq!(fields, expected);
    }

    #[test]
    fn empty_edit_plays_the_whole_base() {
        let edit = TimelineEdit::default();
        assert!(edit.is_empty());
        assert_eq!(edit.parts(Some(s(9.5))).unwrap(), [base(0.0, 9.5)]);
        let at_the_ends = TimelineEdit {
            inserts: vec![insert(InsertPoint::Time(s(9.5))), insert(InsertPoint::Time(s(0.0)))],
            ..TimelineEdit::default()
        };
        assert_eq!(at_the_ends.parts(Some(s(9.5))).unwrap(), [file(1), base(0.0, 9.5), file(0)]);
    }

    #[test]
    fn rejection_names_the_field() {
        let check = |edit: TimelineEdit, base: Option<f64>, expected: &str| {
            let rejected = edit.parts(base.map(s)).unwrap_err();
            assert_eq!(rejected.to_string(), expected);
        };
        let edit = TimelineEdit::default;
        let later = "endTime must be later than startTime";
        check(TimelineEdit { start: s(3.0), end: Some(s(3.0)), ..edit() }, None, later);
        let behind = "startTime is behind the end of the media, which lasts 2.500 s";
        check(TimelineEdit { start: s(2.5), ..edit() }, Some(2.5), behind);
        let removed = |removed: &[(f64, f64)]| TimelineEdit {
            removed: removed.iter().map(|(from, to)| s(*from)..s(*to)).collect(),
            ..edit()
        };
        let empty = "expungeSegments[1] must end later than it starts";
        check(removed(&[(1.0, 2.0), (4.0, 4.0)]), None, empty);
        let overlap = "expungeSegments[0] must not overlap another range";
        check(removed(&[(1.5, 3.0), (1.0, 2.0)]), None, overlap);
        let nothing = "expungeSegments leaves nothing of the media";
        check(removed(&[(0.0, 1.0), (1.0, 9.0)]), Some(9.0), nothing);
        let outside = "expungeSegments[0] is behind the end of the media, which lasts 9.000 s";
        check(removed(&[(9.0, 10.0)]), Some(9.0), outside);
        let between = "segments[0].insertAt must be between startTime and endTime";
        let at = |at: f64| vec![insert(InsertPoint::Time(s(at)))];
        check(TimelineEdit { start: s(1.0), inserts: at(0.5), ..edit() }, None, between);
        check(TimelineEdit { end: Some(s(1.0)), inserts: at(1.5), ..edit() }, None, between);
        let outside = "segments[0].insertAt is behind the end of the media, which lasts 9.000 s";
        check(TimelineEdit { inserts: at(9.5), ..edit() }, Some(9.0), outside);
        let many = "segments makes 31 parts of the media; at most 30 are allowed";
        let inserts = vec![insert(InsertPoint::End); 30];
        check(TimelineEdit { inserts, ..edit() }, None, many);
        let many: Vec<_> = (0..30).map(|n| (f64::from(n) + 0.25, f64::from(n) + 0.5)).collect();
        let expected = "expungeSegments makes 31 parts of the media; at most 30 are allowed";
        check(removed(&many), None, expected);
        assert_eq!(removed(&many[1..]).parts(None).unwrap().len(), 30);
    }
}
