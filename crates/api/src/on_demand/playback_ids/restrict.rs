//! The rules of a playback ID on pages and user agents.

use axum::extract::State;
use kinora_domain::{MediaId, PlaybackId, PlaybackIdSettings, Restriction, RestrictionUpdate};
use kinora_web::access_restrictions::{RestrictionKind, restriction, warnings};
use kinora_web::auth::WriteCaller;
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::extract::{JsonBody, PathIds};
use kinora_web::fields::{Fields, Problems};
use kinora_web::preconditions::Preconditions;
use serde_json::Value;

use super::view::PlaybackIdView;
use crate::ApiState;
use crate::error;
use crate::view::RestrictionView;

/// `PATCH /on-demand/{mediaId}/playback-ids/{playbackId}/domains`: replaces the rule on hosts of pages, with
/// its default and its lists.
///
/// Responds with the rule, and warns of a list that has no effect. 404 unless the media is in the caller's
/// workspace and the playback ID is the media's, 412 when `If-Match` does not match the playback ID, 422
/// names each wrong field. The change and its event are one commit; an unchanged rule emits no event.
pub(super) async fn domains(
    State(app): State<ApiState>,
    caller: WriteCaller,
    PathIds(media, playback): PathIds<MediaId, PlaybackId>,
    conditions: Preconditions,
    JsonBody(body): JsonBody,
) -> Result<Data<RestrictionView>, ApiError> {
    let rule = parse(&body, RestrictionKind::Domains)?;
    let response = Data::ok(RestrictionView::from(&rule)).with_warnings(warnings(&rule));
    replace(&app, caller, (media, playback), conditions, RestrictionUpdate::Domains(rule)).await?;
    Ok(response)
}

/// `PATCH /on-demand/{mediaId}/playback-ids/{playbackId}/user-agents`: the same for the rule on user agents.
pub(super) async fn user_agents(
    State(app): State<ApiState>,
    caller: WriteCaller,
    PathIds(media, playback): PathIds<MediaId, PlaybackId>,
    conditions: Preconditions,
    JsonBody(body): JsonBody,
) -> Result<Data<RestrictionView>, ApiError> {
    let rule = parse(&body, RestrictionKind::UserAgents)?;
    let response = Data::ok(RestrictionView::from(&rule)).with_warnings(warnings(&rule));
    replace(&app, caller, (media, playback), conditions, RestrictionUpdate::UserAgents(rule)).await?;
    Ok(response)
}

pub(super) fn parse(body: &Value, kind: RestrictionKind) -> Result<Restriction, ApiError> {
    let problems = Problems::default();
    let rule = Fields::of_body(body, &problems).and_then(|fields| restriction(&fields, kind));
    problems.into_result(rule)
}

async fn replace(
    app: &ApiState,
    caller: WriteCaller,
    ids: (MediaId, PlaybackId),
    conditions: Preconditions,
    rule: RestrictionUpdate,
) -> Result<(), ApiError> {
    let condition =
        move |found: &PlaybackIdSettings| conditions.is_met(|| Data::ok(PlaybackIdView::from(found)));
    app.service.set_playback_restriction(&caller, ids, condition, rule).await.map_err(error::from_operation)
}
