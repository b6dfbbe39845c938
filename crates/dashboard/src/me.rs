//! The own account.

use axum::extract::State;
use axum::response::Response;
use kinora_domain::{
    Actor, LibraryView, Password, Session, SessionId, SettingsChange, Theme, TimeZoneChoice,
};
use kinora_service::{ChangePassword, MeChange};
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::extract::{JsonBody, PathId};
use kinora_web::fields::{Fields, Problems};
use serde::Serialize;

use crate::DashboardState;
use crate::authenticate::CurrentSession;
use crate::error;
use crate::links::{new_name, new_password};
use crate::parameters::reject_unknown_fields;
use crate::request_origin::Client;
use crate::session::{ended, replaced, required};
use crate::view::{MeView, Nothing};

/// The names of settings.
const SETTINGS: [&str; 4] = ["theme", "times", "library", "keys"];

/// One session in the list.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionInList {
    id: String,
    created_at: String,
    seen_at: String,
    ends_at: String,
    address: String,
    client: String,
    is_current: bool,
}

/// `GET /me`
pub(crate) async fn read(current: CurrentSession) -> Data<MeView> {
    Data::ok(MeView::from(&current.member))
}

/// `PATCH /me`: changes the name, the settings, or both. Settings that are not named stay as they are.
pub(crate) async fn update(
    State(app): State<DashboardState>,
    CurrentSession { member, .. }: CurrentSession,
    client: Client,
    JsonBody(body): JsonBody,
) -> Result<Data<MeView>, ApiError> {
    let problems = Problems::default();
    let change = Fields::of_body(&body, &problems).map(|fields| MeChange {
        name: new_name(&fields),
        settings: fields.object("settings").map(|fields| settings(&fields)).unwrap_or_default(),
    });
    let change = problems.into_result(change)?;
    let actor = Actor::person(&member, client.origin);
    let changed = Box::pin(app.service.update_me(&actor, member.person.id, change)).await;
    let member = changed.map_err(error::from_operation)?;
    app.sessions.forget_cached();
    Ok(Data::ok(MeView::from(&member)))
}

/// `POST /me/password`: a new password. All other sessions of the person end.
pub(crate) async fn change_password(
    State(app): State<DashboardState>,
    current: CurrentSession,
    client: Client,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    let problems = Problems::default();
    let passwords = Fields::of_body(&body, &problems).and_then(|fields| {
        let person = &current.member.person;
        let known = [person.email.as_str(), person.name.as_deref().unwrap_or_default()];
        let present = required(&fields, "password", Password::CHARS_MAX);
        present.zip(new_password(&fields, "newPassword", &known))
    });
    let (present, new) = problems.into_result(passwords)?;
    let verified = Box::pin(app.check_own_password(&current, present, &client)).await?.stored;
    let new = app.hash_password(new).await?;
    let actor = Actor::person(&current.member, client.origin);
    let change = ChangePassword { verified, new };
    let changed = app.service.change_password(&actor, current.session.id, change);
    replaced(&app, Box::pin(changed).await).await
}

/// `GET /me/sessions`: the browsers where the person is signed in, newest use first.
pub(crate) async fn sessions(
    State(app): State<DashboardState>,
    CurrentSession { session: current, member }: CurrentSession,
) -> Result<Data<Vec<SessionInList>>, ApiError> {
    let sessions = app.store.sessions_of(member.person.id, app.clock.now()).await?;
    let view = |session: Session| SessionInList {
        id: session.id.to_string(),
        created_at: session.created_at.to_string(),
        seen_at: session.seen_at.to_string(),
        ends_at: session.valid_until().to_string(),
        is_current: session.id == current.id,
        address: session.address,
        client: session.client,
    };
    Ok(Data::ok(sessions.into_iter().map(view).collect()))
}

/// `DELETE /me/sessions/{sessionId}`: ends one session.
pub(crate) async fn end_session(
    State(app): State<DashboardState>,
    CurrentSession { member, .. }: CurrentSession,
    client: Client,
    PathId(id): PathId<SessionId>,
) -> Result<Data<Nothing>, ApiError> {
    let actor = Actor::person(&member, client.origin);
    ended(&app, Box::pin(app.service.end_session(&actor, member.person.id, id)).await)
}

/// `DELETE /me/sessions`: ends all sessions but this one.
pub(crate) async fn end_other_sessions(
    State(app): State<DashboardState>,
    CurrentSession { session, member }: CurrentSession,
    client: Client,
) -> Result<Data<Nothing>, ApiError> {
    let actor = Actor::person(&member, client.origin);
    ended(&app, Box::pin(app.service.end_other_sessions(&actor, member.person.id, session.id)).await)
}

/// The settings that are named.
fn settings(fields: &Fields<'_>) -> SettingsChange {
    reject_unknown_fields(fields, &SETTINGS);
    SettingsChange {
        theme: fields.one_of("theme", Theme::NAMES, Theme::from_text),
        times: fields.one_of("times", TimeZoneChoice::NAMES, TimeZoneChoice::from_text),
        library: fields.one_of("library", LibraryView::NAMES, LibraryView::from_text),
        keys: fields.bool("keys"),
    }
}
