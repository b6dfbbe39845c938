//! The fields of a video input that edit its timeline: a range, removed ranges, and inserted files (C-194);
//! and the URL that names a media (C-197).

use std::ops::Range;
use std::time::Duration;

use kinora_domain::{Insert, InsertPoint, MediaId, TimelineEdit};
use kinora_web::fields::Fields;
use kinora_web::openapi::schema::{object, with_description};
use serde_json::{Value, json};

use super::media_settings_request::{INPUTS_MAX, URL_MAX};

/// The start of a URL that names a media of the workspace.
pub(super) const MEDIA_SCHEME: &str = "fp_mediaId://";

/// Longest text of a removed range: two times of 20 characters.
const RANGE_LEN_MAX: usize = 41;

/// The media that a URL names; `None` for another URL, and for an invalid ID, which is rejected.
pub(super) fn clipped_media(input: &Fields<'_>, url: &str) -> Option<MediaId> {
    let id = url.strip_prefix(MEDIA_SCHEME)?.parse().ok();
    if id.is_none() {
        input.reject(
            "url",
            format!("must name a media by its id: {MEDIA_SCHEME}01979e3e-7a52-7c54-b9b5-1f6a2f0d9c11"),
        );
    }
    id
}

/// The edit of a video input; `None` if it plays the base as it is. Rejects wrong fields.
pub(super) fn timeline_edit(input: &Fields<'_>) -> Option<TimelineEdit> {
    let trim = trim_times(input);
    let (removed, inserts) = (removed_ranges(input), inserts(input));
    let (intro, outro) = (file_url(input, "introUrl"), file_url(input, "outroUrl"));
    let (start, end) = trim?;
    let edit = TimelineEdit { start, end, removed: removed?, inserts: inserts?, intro, outro };
    checked(input, edit)
}

/// The range in the settings of an upload, beside its inputs.
pub(super) fn trim_edit(fields: &Fields<'_>) -> Option<TimelineEdit> {
    let (start, end) = trim_times(fields)?;
    checked(fields, TimelineEdit { start, end, ..TimelineEdit::default() })
}

/// The edit, unless it changes nothing. Rejects a field of `input` that does not fit the others.
fn checked(input: &Fields<'_>, edit: TimelineEdit) -> Option<TimelineEdit> {
    if let Err(rejected) = edit.check() {
        input.reject(&rejected.field, rejected.problem);
    }
    Some(edit).filter(|edit| !edit.is_empty())
}

/// Start and end; `None` if one of them is wrong.
fn trim_times(fields: &Fields<'_>) -> Option<(Duration, Option<Duration>)> {
    let [start, end] = ["startTime", "endTime"].map(|name| (fields.is_present(name), time(fields, name)));
    let is_valid = |(is_present, time): (bool, Option<Duration>)| !is_present || time.is_some();
    (is_valid(start) && is_valid(end)).then_some((start.1.unwrap_or_default(), end.1))
}

/// A time in seconds, to the microsecond.
fn time(fields: &Fields<'_>, name: &str) -> Option<Duration> {
    let seconds = fields.number(name)?;
    let time = duration(seconds);
    if time.is_none() {
        fields.reject(name, format!("must be seconds from 0 to {}", TimelineEdit::TIME_MAX.as_secs()));
    }
    time
}

fn duration(seconds: f64) -> Option<Duration> {
    if !(0.0..=TimelineEdit::TIME_MAX.as_secs_f64()).contains(&seconds) {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range was checked")]
    let micros = (seconds * 1_000_000.0).round() as u64;
    Some(Duration::from_micros(micros))
}

/// The URL of a file; an empty one is the same as none.
fn file_url(fields: &Fields<'_>, name: &str) -> Option<String> {
    let url = fields.text(name, URL_MAX).filter(|url| !url.is_empty())?;
    if let Err(problem) = kinora_fetch::parse_source_url(url) {
        fields.reject(name, problem.to_string());
    }
    Some(url.to_owned())
}

/// The ranges of texts such as `3-7.5`; `None` if one is wrong, which is rejected.
fn removed_ranges(input: &Fields<'_>) -> Option<Vec<Range<Duration>>> {
    const NAME: &str = "expungeSegments";
    if !input.is_present(NAME) {
        return Some(Vec::new());
    }
    let list = input.list(NAME)?;
    if INPUTS_MAX < list.len() {
        input.reject(NAME, format!("must have at most {INPUTS_MAX} items"));
        return None;
    }
    let ranges = list.iter().enumerate().filter_map(|(number, value)| {
        let range = value.as_str().and_then(range);
        if range.is_none() {
            let must = format!(
                "must be two times in seconds such as \"3-7.5\", up to {}",
                TimelineEdit::TIME_MAX.as_secs()
            );
            input.reject(&format!("{NAME}[{number}]"), must);
        }
        range
    });
    let ranges: Vec<_> = ranges.collect();
    (ranges.len() == list.len()).then_some(ranges)
}

fn range(text: &str) -> Option<Range<Duration>> {
    let (start, end) = Some(text).filter(|text| text.len() <= RANGE_LEN_MAX)?.split_once('-')?;
    let time = |text: &str| {
        let text = text.trim();
        let is_decimal = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        duration(Some(text).filter(|_| is_decimal)?.parse().ok()?)
    };
    Some(time(start)?..time(end)?)
}

/// The inserted files; `None` if one of them is wrong.
fn inserts(input: &Fields<'_>) -> Option<Vec<Insert>> {
    if !input.is_present("segments") {
        return Some(Vec::new());
    }
    let count = input.list("segments")?.len();
    let segments = input.objects("segments", INPUTS_MAX)?;
    let inserts: Vec<_> = segments.iter().filter_map(insert).collect();
    (inserts.len() == count).then_some(inserts)
}

fn insert(segment: &Fields<'_>) -> Option<Insert> {
    let url = file_url(segment, "url");
    if url.is_none() {
        segment.reject("url", "must be the URL of the file to insert");
    }
    let is_at_end = segment.bool("insertAtEnd") == Some(true);
    let at = match (segment.is_present("insertAt"), is_at_end) {
        (true, true) => {
            segment.reject("insertAt", "must be left out with insertAtEnd");
            return None;
        }
        (true, false) => InsertPoint::Time(time(segment, "insertAt")?),
        (false, true) => InsertPoint::End,
        (false, false) => {
            segment.reject("insertAt", "must be a time in seconds, unless insertAtEnd is true");
            return None;
        }
    };
    Some(Insert { url: url?, at })
}

/// The fields of a video input in the OpenAPI document.
pub(super) fn edit_fields() -> impl Iterator<Item = (&'static str, Value)> {
    let url = |description: &str| {
        with_description(
            json!({"type": "string", "maxLength": URL_MAX, "pattern": "^https?://"}),
            description,
        )
    };
    let range = json!({"type": "string", "maxLength": RANGE_LEN_MAX, "pattern": r"^ *[0-9.]+ *- *[0-9.]+ *$", "examples": ["3-7.5"]});
    let removed = json!({"type": "array", "maxItems": INPUTS_MAX, "items": range});
    let insert = object(
        &["url"],
        [
            ("url", url("URL of the file.")),
            ("insertAt", time_schema("Its place: before the frame at this time of the video, in seconds.")),
            (
                "insertAtEnd",
                with_description(
                    json!({"type": "boolean"}),
                    "`true` places it after the video. Either this or `insertAt` is required.",
                ),
            ),
        ],
    );
    let inserts = json!({"type": "array", "maxItems": INPUTS_MAX, "items": insert});
    let parts_max = TimelineEdit::PARTS_MAX;
    let files = [
        ("introUrl", url("URL of a video that plays before everything else.")),
        ("outroUrl", url("URL of a video that plays after everything else.")),
        (
            "expungeSegments",
            with_description(
                removed,
                "Ranges that are cut out, in seconds of the video before any edit. They do not overlap.",
            ),
        ),
        (
            "segments",
            with_description(
                inserts,
                &format!("Videos that are inserted. The edited video has at most {parts_max} parts."),
            ),
        ),
    ];
    trim_fields().into_iter().chain(files)
}

/// The fields of the range.
pub(super) fn trim_fields() -> [(&'static str, Value); 2] {
    [
        (
            "startTime",
            time_schema(
                "Start of the range that plays, in seconds. The first frame at or after it is the first one shown.",
            ),
        ),
        ("endTime", time_schema("End of the range that plays, in seconds. Default: the end of the video.")),
    ]
}

fn time_schema(description: &str) -> Value {
    let time = json!({"type": "number", "minimum": 0, "maximum": TimelineEdit::TIME_MAX.as_secs()});
    with_description(time, description)
}
