//! The events of a media, each with its deliveries.

use axum::Extension;
use axum::extract::State;
use kinora_domain::{AttemptOutcome, MediaId, Permission};
use kinora_store::{DeliveryState, LastAttempt, ListedDelivery, ListedEvent};
use kinora_web::auth::Access;
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::extract::PathId;
use kinora_web::fields::Problems;
use kinora_web::pagination::ListQuery;
use kinora_web::source_address::without_secrets;
use serde::Serialize;
use serde_json::Value;
use url::Url;

use crate::DashboardState;
use crate::media::find_media;
use crate::parameters::{or_problem, reject_unknown, whole_number};

/// Events of a page.
const LIMIT_DEFAULT: u32 = 50;
const LIMIT_MAX: u32 = 100;

/// A page of events, newest first.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EventPageView {
    events: Vec<EventView>,
    /// The cursor of the next page; `None` on the last one.
    next_cursor: Option<String>,
}

#[derive(Serialize)]
struct EventView {
    id: String,
    r#type: String,
    at: String,
    /// The body that webhooks get, for viewers with shortened addresses of sources (D-0164); `None` if
    /// a newer version of Kinora wrote the event.
    data: Option<Value>,
    deliveries: Vec<DeliveryView>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DeliveryView {
    id: String,
    webhook: Option<WebhookView>,
    state: &'static str,
    attempts: u32,
    last_status: Option<u16>,
    last_error: Option<String>,
    last_attempt_at: Option<String>,
    next_attempt_at: Option<String>,
}

#[derive(Serialize)]
struct WebhookView {
    id: String,
    url: String,
}

/// `GET /media/{mediaId}/events`: one page, newest first. Also of a media that was deleted, and of an upload
/// whose media does not exist yet; 404 for an id that has neither a media nor events in this workspace.
pub(crate) async fn list(
    State(app): State<DashboardState>,
    Extension(access): Extension<Access>,
    PathId(id): PathId<MediaId>,
    query: ListQuery,
) -> Result<Data<EventPageView>, ApiError> {
    let (limit, before) = parse(&query)?;
    let workspace = access.caller.workspace;
    // One more event tells whether there is another page.
    let mut events = app.store.events_of_media(workspace, id, before, limit + 1).await?;
    if events.is_empty() {
        check_subject(&app, access, id).await?;
    }
    let has_more = events.len() > limit as usize;
    events.truncate(limit as usize);
    let last = events.last().map(|event| event.sequence).filter(|_| has_more);
    Ok(Data::ok(EventPageView {
        events: events.into_iter().map(|event| EventView::new(&app, event, access.permission)).collect(),
        next_cursor: last.map(cursor_of),
    }))
}

/// 404 for an id without events that is no media either. A page after the last event is empty.
async fn check_subject(app: &DashboardState, access: Access, id: MediaId) -> Result<(), ApiError> {
    if app.store.events_of_media(access.caller.workspace, id, None, 1).await?.is_empty() {
        Box::pin(find_media(app, access, id)).await?;
    }
    Ok(())
}

/// The limit, and the position before which the page begins. 422 names each invalid parameter.
fn parse(query: &ListQuery) -> Result<(u32, Option<i64>), ApiError> {
    let problems = Problems::default();
    reject_unknown(query, &["limit", "cursor"], &problems);
    let limit = query.single_value("limit", &problems).and_then(|text| {
        let limit = whole_number(text, 1..=LIMIT_MAX);
        or_problem(limit, "limit", &format!("must be a whole number from 1 to {LIMIT_MAX}"), &problems)
    });
    let before = query.single_value("cursor", &problems).and_then(|text| {
        let problem = "is not a valid cursor; leave it out to start with the newest event";
        or_problem(sequence_of(text), "cursor", problem, &problems)
    });
    problems.into_result(Some((limit.unwrap_or(LIMIT_DEFAULT), before)))
}

/// The cursor of a position: its hexadecimal digits.
fn cursor_of(sequence: i64) -> String {
    format!("{sequence:016x}")
}

fn sequence_of(cursor: &str) -> Option<i64> {
    let has_digits = cursor.len() == 16 && cursor.bytes().all(|byte| byte.is_ascii_hexdigit());
    has_digits.then(|| i64::from_str_radix(cursor, 16).ok())?
}

impl EventView {
    fn new(app: &DashboardState, event: ListedEvent, permission: Permission) -> Self {
        let ListedEvent { id, kind, at, event, deliveries, .. } = event;
        Self {
            id: id.to_string(),
            r#type: kind,
            at: at.to_string(),
            data: event.map(|event| shown_body(app.media_details.event_body(&event), permission)),
            deliveries: deliveries.into_iter().map(|it| DeliveryView::new(it, permission)).collect(),
        }
    }
}

impl DeliveryView {
    fn new(delivery: ListedDelivery, permission: Permission) -> Self {
        let ListedDelivery { id, webhook, webhook_url, state, attempt_count, last_attempt } = delivery;
        let (state, due_at) = match state {
            DeliveryState::Pending { due_at } if attempt_count == 0 => ("waiting", due_at),
            DeliveryState::Pending { due_at } => ("retrying", due_at),
            DeliveryState::Delivered => ("delivered", None),
            DeliveryState::GivenUp => ("failed", None),
        };
        let (last_status, last_error) = match last_attempt.as_ref().map(|attempt| &attempt.outcome) {
            Some(AttemptOutcome::Answered(response)) => {
                let status = response.status;
                let problem = || format!("the receiver responded with status {status}");
                (Some(status), (state != "delivered").then(problem))
            }
            Some(AttemptOutcome::Unanswered(reason)) => (None, Some(reason.clone())),
            None => (None, None),
        };
        Self {
            id: id.to_string(),
            webhook: Some(WebhookView {
                id: webhook.to_string(),
                url: shown_address(&webhook_url, permission),
            }),
            state,
            attempts: attempt_count,
            last_status,
            last_error,
            last_attempt_at: last_attempt.map(|LastAttempt { at, .. }| at.to_string()),
            next_attempt_at: due_at.map(|at| at.to_string()),
        }
    }
}

/// The body of an event. Only people who may change media see the whole addresses of sources.
fn shown_body(mut body: Value, permission: Permission) -> Value {
    if permission == Permission::ReadOnly
        && let Some(inputs) = body.pointer_mut("/data/inputs").and_then(Value::as_array_mut)
    {
        for url in inputs.iter_mut().filter_map(|input| input.get_mut("url")) {
            *url = url.as_str().map(without_secrets).into();
        }
    }
    body
}

/// The address of a webhook without credentials, query and fragment. The path may be a secret too: only
/// people who may change webhooks see it (D-0148).
fn shown_address(url: &str, permission: Permission) -> String {
    let Ok(url) = Url::parse(url) else { return String::new() };
    let origin = url.origin().ascii_serialization();
    match permission {
        Permission::ReadWrite => format!("{origin}{}", url.path()),
        Permission::ReadOnly => origin,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_has_no_secret() {
        let check = |url, permission, expected: &str| assert_eq!(shown_address(url, permission), expected);
        let url = "https://me:secret@hooks.example:8443/T0/secret?key=secret#secret";
        check(url, Permission::ReadWrite, "https://hooks.example:8443/T0/secret");
        check(url, Permission::ReadOnly, "https://hooks.example:8443");
        check("no address", Permission::ReadWrite, "");
    }

    #[test]
    fn cursor_round_trips_and_others_are_rejected() {
        for sequence in [0, 1, i64::MAX] {
            assert_eq!(sequence_of(&cursor_of(sequence)), Some(sequence));
        }
        for other in ["", "1", "+000000000000001", "ffffffffffffffff", "000000000000000g"] {
            assert_eq!(sequence_of(other), None, "{other}");
        }
    }

    #[test]
    fn limit_and_cursor_are_checked_together() {
        let parsed = |query: &str| {
            let parsed = parse(&ListQuery::of("/events", query));
            parsed.map_err(|error| error.fields().into_iter().map(str::to_owned).collect::<Vec<_>>())
        };
        assert_eq!(parsed(""), Ok((50, None)));
        assert_eq!(parsed("limit=100&cursor=000000000000000a"), Ok((100, Some(10))));
        assert_eq!(parsed("limit=101&cursor=a&page=2").unwrap_err().len(), 3);
        assert_eq!(parsed("limit=0").unwrap_err().len(), 1);
        assert_eq!(parsed("limit=%2B5").unwrap_err().len(), 1);
    }
}
