//! The rules of a playback ID: where, and in what, it is watched.

use axum::extract::State;
use kinora_domain::{MediaId, NewRestriction, PlaybackHandle, PlaybackId, Restriction};
use kinora_web::auth::Writer;
use kinora_web::condition::Conditions;
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::extract::{JsonBody, PathIds};
use kinora_web::fields::{Fields, Problems};
use serde_json::Value;

use super::view::PlaybackIdView;
use crate::ApiState;
use crate::error;
use crate::on_demand::rules::{Entries, restriction, warnings};
use crate::view::RestrictionView;

/// `PATCH /on-demand/{mediaId}/playback-ids/{playbackId}/domains`: replaces the rule on hosts of pages,
/// default and lists.
///
/// Answers the rule, with a warning of a list that decides nothing. 404 unless the media is in the caller's
/// workspace and the playback ID is the media's, 412 when the playback ID is not what `If-Match` names, 422
/// names each wrong field. The change and its event are one commit; a rule that is the same as before is not
/// told.
pub(super) async fn domains(
    State(app): State<ApiState>,
    caller: Writer,
    PathIds(media, playback): PathIds<MediaId, PlaybackId>,
    conditions: Conditions,
    JsonBody(body): JsonBody,
) -> Result<Data<RestrictionView>, ApiError> {
    let rule = parse(&body, Entries::Domains)?;
    let answer = Data::ok(RestrictionView::from(&rule)).warned(warnings(&rule));
    replace(&app, caller, (media, playback), conditions, NewRestriction::Domains(rule)).await?;
    Ok(answer)
}

/// `PATCH /on-demand/{mediaId}/playback-ids/{playbackId}/user-agents`: the same for the rule on user agents.
pub(super) async fn user_agents(
    State(app): State<ApiState>,
    caller: Writer,
    PathIds(media, playback): PathIds<MediaId, PlaybackId>,
    conditions: Conditions,
    JsonBody(body): JsonBody,
) -> Result<Data<RestrictionView>, ApiError> {
    let rule = parse(&body, Entries::UserAgents)?;
    let answer = Data::ok(RestrictionView::from(&rule)).warned(warnings(&rule));
    replace(&app, caller, (media, playback), conditions, NewRestriction::UserAgents(rule)).await?;
    Ok(answer)
}

pub(super) fn parse(body: &Value, entries: Entries) -> Result<Restriction, ApiError> {
    let problems = Problems::default();
    let rule = Fields::of_body(body, &problems).and_then(|fields| restriction(&fields, entries));
    problems.into_result(rule)
}

async fn replace(
    app: &ApiState,
    caller: Writer,
    ids: (MediaId, PlaybackId),
    conditions: Conditions,
    rule: NewRestriction,
) -> Result<(), ApiError> {
    let condition = move |found: &PlaybackHandle| conditions.hold(|| Data::ok(PlaybackIdView::from(found)));
    app.service.restrict_playback(&caller, ids, condition, rule).await.map_err(error::of_operation)
}
