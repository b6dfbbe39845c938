//! Invitations: links that create an account for an email address.

use axum::extract::State;
use kinora_domain::{Actor, Email, OneTimeLink, OneTimeLinkId, Role};
use kinora_service::MadeLink;
use kinora_store::Invitation;
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::extract::{JsonBody, PathId};
use kinora_web::fields::{Fields, Problems};
use serde::Serialize;
use serde_json::Value;

use crate::DashboardState;
use crate::authenticate::CurrentSession;
use crate::error;
use crate::request_origin::Client;
use crate::session::required;
use crate::view::Nothing;

/// Longest text that is read as an email address.
const EMAIL_TEXT_MAX: usize = 1000;

/// An open invitation.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InvitationView {
    id: String,
    email: String,
    role: &'static str,
    /// The name of the person who made it. `None`: the command line, or a person who was removed.
    made_by: Option<String>,
    created_at: String,
    ends_at: String,
}

/// An invitation that was just made. The secret in `url` is in this response alone.
#[derive(Serialize)]
pub(crate) struct MadeInvitationView {
    #[serde(flatten)]
    invitation: InvitationView,
    url: String,
}

/// `GET /invitations`: the open ones, newest first.
pub(crate) async fn list(
    State(app): State<DashboardState>,
    CurrentSession { member, .. }: CurrentSession,
) -> Result<Data<Vec<InvitationView>>, ApiError> {
    let open = app.store.open_invitations(app.clock.now()).await?.into_iter();
    let open = open.filter(|invitation| invitation.link.organisation == member.organisation);
    let view = |Invitation { link, made_by }| InvitationView::of(&link, made_by);
    Ok(Data::ok(open.map(view).collect()))
}

/// `POST /invitations`: makes an invitation. An earlier one of the same address ends.
pub(crate) async fn create(
    State(app): State<DashboardState>,
    CurrentSession { member, .. }: CurrentSession,
    client: Client,
    JsonBody(body): JsonBody,
) -> Result<Data<MadeInvitationView>, ApiError> {
    let (email, role) = email_and_role(&body)?;
    let actor = Actor::person(&member, client.origin);
    let made = Box::pin(app.service.invitation_link(&actor, email, role)).await;
    let MadeLink { link, secret } = made.map_err(error::from_people_operation)?;
    let view = MadeInvitationView {
        url: link.kind.url(&app.base_urls.public, &secret),
        invitation: InvitationView::of(&link, Some(member.person.display_name().to_owned())),
    };
    Ok(Data::created(view, Vec::new()))
}

/// `DELETE /invitations/{invitationId}`: takes an open invitation back.
pub(crate) async fn revoke(
    State(app): State<DashboardState>,
    CurrentSession { member, .. }: CurrentSession,
    client: Client,
    PathId(id): PathId<OneTimeLinkId>,
) -> Result<Data<Nothing>, ApiError> {
    let actor = Actor::person(&member, client.origin);
    let revoked = Box::pin(app.service.revoke_invitation(&actor, id)).await;
    revoked.map_err(error::from_people_operation)?;
    Ok(Data::ok(Nothing {}))
}

fn email_and_role(body: &Value) -> Result<(Email, Role), ApiError> {
    let problems = Problems::default();
    let read = Fields::of_body(body, &problems).and_then(|fields| {
        let email = required(&fields, "email", EMAIL_TEXT_MAX).and_then(|text| {
            Email::parse(&text).map_err(|problem| fields.reject("email", problem.to_string())).ok()
        });
        if !fields.is_present("role") {
            fields.reject("role", "is required");
        }
        let role = fields.one_of("role", &Role::ALL.map(Role::as_str), Role::from_text);
        email.zip(role)
    });
    problems.into_result(read)
}

impl InvitationView {
    fn of(link: &OneTimeLink, made_by: Option<String>) -> Self {
        Self {
            id: link.id.to_string(),
            email: link.email.to_string(),
            role: link.role.as_str(),
            made_by,
            created_at: link.created_at.to_string(),
            ends_at: link.ends_at.to_string(),
        }
    }
}
