//! People: listed, changed and removed by an administrator. Their own account is in `me.rs`.

use axum::extract::State;
use kinora_domain::{Actor, Member, Person, PersonId, Role};
use kinora_service::{MadeLink, PersonChange};
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::extract::{JsonBody, PathId};
use kinora_web::fields::{Fields, Problems};
use serde::Serialize;

use crate::DashboardState;
use crate::authenticate::CurrentSession;
use crate::error;
use crate::request_origin::Client;
use crate::view::Nothing;

/// One person in the list.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PersonView {
    id: String,
    email: String,
    name: Option<String>,
    role: &'static str,
    is_disabled: bool,
    /// Whether they are enabled and have a password.
    can_sign_in: bool,
    created_at: String,
    seen_at: Option<String>,
}

/// A link with which a person sets a password. The secret in `url` is in this response alone.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResetView {
    kind: &'static str,
    url: String,
    ends_at: String,
}

/// `GET /people`: all people, oldest first.
pub(crate) async fn list(
    State(app): State<DashboardState>,
    CurrentSession { member, .. }: CurrentSession,
) -> Result<Data<Vec<PersonView>>, ApiError> {
    let members = app.store.members().await?;
    let members = members.iter().filter(|other| other.organisation == member.organisation);
    Ok(Data::ok(members.map(PersonView::from).collect()))
}

/// `PATCH /people/{personId}`: another role, disabled or enabled. Sessions of a disabled person end.
pub(crate) async fn change(
    State(app): State<DashboardState>,
    CurrentSession { member, .. }: CurrentSession,
    client: Client,
    PathId(id): PathId<PersonId>,
    JsonBody(body): JsonBody,
) -> Result<Data<PersonView>, ApiError> {
    let problems = Problems::default();
    let change = Fields::of_body(&body, &problems).map(|fields| PersonChange {
        role: fields.one_of("role", &Role::ALL.map(Role::as_str), Role::from_text),
        is_disabled: fields.bool("isDisabled"),
    });
    let change = problems.into_result(change)?;
    if change == PersonChange::default() {
        return Err(ApiError::invalid_field("role", "or isDisabled is required"));
    }
    let actor = Actor::person(&member, client.origin);
    let changed = Box::pin(app.service.change_person(&actor, id, change)).await;
    let member = changed.map_err(error::from_people_operation)?;
    app.sessions.forget_cached();
    Ok(Data::ok(PersonView::from(&member)))
}

/// `DELETE /people/{personId}`: removes a person. Their sessions and links end.
pub(crate) async fn remove(
    State(app): State<DashboardState>,
    CurrentSession { member, .. }: CurrentSession,
    client: Client,
    PathId(id): PathId<PersonId>,
) -> Result<Data<Nothing>, ApiError> {
    let actor = Actor::person(&member, client.origin);
    let removed = Box::pin(app.service.remove_person(&actor, id)).await;
    removed.map_err(error::from_people_operation)?;
    app.sessions.forget_cached();
    Ok(Data::ok(Nothing {}))
}

/// `POST /people/{personId}/reset`: makes a link with which the person sets a password.
pub(crate) async fn reset(
    State(app): State<DashboardState>,
    CurrentSession { member, .. }: CurrentSession,
    client: Client,
    PathId(id): PathId<PersonId>,
) -> Result<Data<ResetView>, ApiError> {
    let actor = Actor::person(&member, client.origin);
    let made = Box::pin(app.service.reset_link(&actor, id)).await;
    let MadeLink { link, secret } = made.map_err(error::from_people_operation)?;
    let view = ResetView {
        kind: link.kind.as_str(),
        url: link.kind.url(&app.base_urls.public, &secret),
        ends_at: link.ends_at.to_string(),
    };
    Ok(Data::created(view, Vec::new()))
}

impl From<&Member> for PersonView {
    fn from(member: &Member) -> Self {
        let Person { id, email, name, disabled_at, created_at, seen_at, .. } = &member.person;
        Self {
            id: id.to_string(),
            email: email.to_string(),
            name: name.clone(),
            role: member.role.as_str(),
            is_disabled: disabled_at.is_some(),
            can_sign_in: member.person.can_sign_in(),
            created_at: created_at.to_string(),
            seen_at: seen_at.map(|time| time.to_string()),
        }
    }
}
