//! One-time links: setup, invitation and reset. The secret is in the body, never in an address.

use axum::extract::State;
use axum::response::Response;
use kinora_domain::{LinkKind, Password, Person, SecretHash};
use kinora_service::{Error as OperationError, OpenLink, UseLink};
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::extract::JsonBody;
use kinora_web::fields::{Fields, Problems};
use serde::Serialize;
use serde_json::Value;

use crate::DashboardState;
use crate::door::OrganisationName;
use crate::error;
use crate::request_origin::Client;
use crate::session::required;
use crate::view::opened_session;

/// Longest secret that is looked up; one has 43 characters.
const SECRET_CHARS_MAX: usize = 256;

/// What a link is for.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LinkView {
    kind: &'static str,
    email: String,
    name: Option<String>,
    role: &'static str,
    ends_at: String,
    organisation: OrganisationName,
}

/// `POST /links/look`: what a link is for. It stays unused.
pub(crate) async fn look(
    State(app): State<DashboardState>,
    client: Client,
    JsonBody(body): JsonBody,
) -> Result<Data<LinkView>, ApiError> {
    let problems = Problems::default();
    let secret = Fields::of_body(&body, &problems).and_then(|fields| secret(&fields));
    let OpenLink { link, name } = Box::pin(open(&app, &client, &problems.into_result(secret)?)).await?;
    Ok(Data::ok(LinkView {
        kind: link.kind.as_str(),
        email: link.email.to_string(),
        name,
        role: link.role.as_str(),
        ends_at: link.ends_at.to_string(),
        organisation: OrganisationName::read(&app).await?,
    }))
}

/// `POST /links/use`: sets the password, and the name where there is none, and signs in.
pub(crate) async fn use_link(
    State(app): State<DashboardState>,
    client: Client,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    let problems = Problems::default();
    let secret = Fields::of_body(&body, &problems).and_then(|fields| secret(&fields));
    let secret = problems.into_result(secret)?;
    let link = Box::pin(open(&app, &client, &secret)).await?;
    let (name, password) = account_fields(&body, &link)?;
    let password = app.hash_password(password).await?;
    let used = UseLink { secret, name, password, origin: client.origin };
    let opened = Box::pin(app.service.use_link(used)).await.map_err(error::from_operation)?;
    // A reset ends the other sessions of the person.
    app.sessions.forget_cached();
    Ok(opened_session(&app, opened, |view| Data::created(view, Vec::new())).await)
}

/// An open link. Only secrets that are unknown, used or ended count for the limit of the client.
async fn open(app: &DashboardState, client: &Client, secret: &SecretHash) -> Result<OpenLink, ApiError> {
    let begun = app.throttle.begin_link(client.address, app.clock.now());
    let attempt = begun.map_err(error::too_early)?;
    let found = app.service.look_at_link(secret).await;
    match &found {
        Ok(_) => attempt.succeed(),
        Err(OperationError::LinkNotFound | OperationError::LinkUsed(_) | OperationError::LinkEnded(_)) => {}
        Err(_) => attempt.withdraw(),
    }
    found.map_err(error::from_operation)
}

fn secret(fields: &Fields<'_>) -> Option<SecretHash> {
    required(fields, "secret", SECRET_CHARS_MAX).map(|secret| SecretHash::of(&secret))
}

/// The name and the password of the person who uses a link.
fn account_fields(
    body: &Value,
    OpenLink { link, name }: &OpenLink,
) -> Result<(Option<String>, Password), ApiError> {
    let problems = Problems::default();
    let read = Fields::of_body(body, &problems).and_then(|fields| {
        let new_name = new_name(&fields);
        if name.is_none() && link.kind != LinkKind::Reset && !fields.is_present("name") {
            fields.reject("name", "is required");
        }
        let known_name = new_name.as_deref().or(name.as_deref()).unwrap_or_default();
        let password = new_password(&fields, "password", &[link.email.as_str(), known_name]);
        password.map(|password| (new_name, password))
    });
    problems.into_result(read)
}

/// The name of a person.
pub(crate) fn new_name(fields: &Fields<'_>) -> Option<String> {
    let name = fields.text("name", Person::NAME_MAX)?;
    Person::parse_name(name).map_err(|rule| fields.reject("name", rule)).ok()
}

/// A new password that meets the rule.
pub(crate) fn new_password(fields: &Fields<'_>, name: &str, known: &[&str]) -> Option<Password> {
    let text = required(fields, name, Password::CHARS_MAX)?;
    Password::new(&text, known).map_err(|rejected| fields.reject(name, rejected.to_string())).ok()
}
