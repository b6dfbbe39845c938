use axum::extract::FromRequestParts as _;
use axum::http::Request;
use futures_util::FutureExt as _;
use kinora_domain::MediaState;
use kinora_web::error::ApiError;

use super::*;

fn filter_of(query: &str) -> Result<MediaFilter, ApiError> {
    let (mut parts, ()) = Request::get(format!("/on-demand?{query}")).body(()).unwrap().into_parts();
    let query = ListQuery::from_request_parts(&mut parts, &()).now_or_never().unwrap().unwrap();
    let problems = Problems::default();
    let filter = parse(&query, &problems);
    problems.into_result(Some(filter))
}

#[test]
fn every_filter_parses() {
    let filter = filter_of(
        "status=Ready&title=Sum%20mer&creatorId=&metadataKey=a&metadata[b]=c&metadata%5Bd]e%5D=\
         &createdAfter=2025-11-03&createdBefore=2025-11-03T12:00:00.5%2B02:00&other=1&metadatum=2",
    );
    let text = |text: &str| Some(text.to_owned());
    let entry = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let midnight = Timestamp::from_micros(1_762_128_000_000_000);
    let expected = MediaFilter {
        clip_of: None,
        state: text("Ready"),
        title_prefix: text("Sum mer"),
        creator_id: text(""),
        metadata_key: text("a"),
        metadata: vec![entry("b", "c"), entry("d]e", "")],
        created_from: Some(midnight),
        created_before: Some(midnight.plus_micros((10 * 3600 * 2 + 1) * Timestamp::SECOND / 2)),
    };
    assert_eq!(filter.unwrap(), expected);
    assert_eq!(filter_of("").unwrap(), MediaFilter::default());
}

#[test]
fn status_filter_accepts_every_contract_state() {
    for state in STATUSES {
        assert_eq!(
            filter_of(&format!("status={}", state.replace(' ', "+"))).unwrap().state.as_deref(),
            Some(state)
        );
    }
    assert_eq!(filter_of("status=In%20Queue").unwrap().state.as_deref(), Some("In Queue"));
    assert!(MediaState::NAMES.iter().all(|state| STATUSES.contains(state)));
}

#[test]
fn invalid_filters_are_named() {
    let check = |query: &str, fields: &[&str]| {
        assert_eq!(filter_of(query).unwrap_err().fields(), fields, "{query}");
    };
    check("status=ready", &["status"]);
    check("status=In", &["status"]);
    check("status=waiting", &["status"]);
    check("status=", &["status"]);
    check("status=Ready&status=Ready", &["status"]);
    check("title=", &["title"]);
    check("metadata=a", &["metadata"]);
    check("metadata[a=b", &["metadata"]);
    check("metadata[a]=b&metadata[a]=c", &["metadata[a]"]);
    check("createdAfter=yesterday&createdBefore=2025-13-01", &["createdAfter", "createdBefore"]);
    check("createdAfter=2025-11-03T10:03:48+02:00", &["createdAfter"]);
    check("createdAfter=2025-11-03T10:03:48", &["createdAfter"]);
    check("createdAfter=2025-11-03&createdBefore=2025-11-03T00:00:00Z", &["createdBefore"]);
    filter_of("createdAfter=2025-11-03&createdBefore=2025-11-04").unwrap();
}

#[test]
fn filter_texts_and_metadata_are_bounded() {
    let (most, over) = ("%C3%A4".repeat(255), "%C3%A4".repeat(256));
    for name in ["title", "creatorId", "metadataKey", "metadata[a]"] {
        filter_of(&format!("{name}={most}")).unwrap();
        assert_eq!(filter_of(&format!("{name}={over}")).unwrap_err().fields(), [name]);
    }
    filter_of(&format!("metadata[{most}]=a")).unwrap();
    assert_eq!(filter_of(&format!("metadata[{over}]=a")).unwrap_err().fields(), ["metadata"]);
    let entries =
        |count: usize| (0..count).map(|at| format!("metadata[{at}]=a")).collect::<Vec<_>>().join("&");
    filter_of(&entries(10)).unwrap();
    assert_eq!(filter_of(&entries(11)).unwrap_err().fields(), ["metadata"]);
}
