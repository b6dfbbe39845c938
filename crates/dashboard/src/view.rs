//! Responses of the operations.

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use kinora_domain::{Action, Member, Person, PersonSettings};
use kinora_service::NamedFile;
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use serde::Serialize;

use crate::DashboardState;
use crate::authenticate::CurrentSession;

/// Who is signed in, what they may do, and where.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionView {
    person: SessionPersonView,
    role: &'static str,
    actions: Vec<&'static str>,
    organisation: OrganisationView,
    workspaces: Vec<WorkspaceView>,
    confirmed_until: String,
    ends_at: String,
}

#[derive(Serialize)]
struct SessionPersonView {
    id: String,
    email: String,
    name: Option<String>,
    settings: SettingsView,
}

/// An object with its name, which is `None` where the object exists no longer.
#[derive(Serialize)]
pub(crate) struct NamedView {
    pub(crate) id: String,
    pub(crate) name: Option<String>,
}

/// A text file that the page offers as a download.
#[derive(Serialize)]
pub(crate) struct FileView {
    name: String,
    text: String,
}

impl From<NamedFile> for FileView {
    fn from(NamedFile { name, text }: NamedFile) -> Self {
        Self { name, text }
    }
}

#[derive(Serialize)]
struct OrganisationView {
    id: String,
    name: String,
}

#[derive(Serialize)]
struct WorkspaceView {
    id: String,
    name: String,
}

/// The own account.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MeView {
    id: String,
    email: String,
    name: Option<String>,
    role: &'static str,
    settings: SettingsView,
    created_at: String,
}

#[derive(Serialize)]
struct SettingsView {
    theme: &'static str,
    times: &'static str,
    library: &'static str,
    keys: bool,
}

/// An object without fields.
#[derive(Serialize)]
pub(crate) struct Nothing {}

impl SessionView {
    /// The view of this session, with what the person sees.
    pub(crate) async fn of(app: &DashboardState, current: &CurrentSession) -> Result<Self, ApiError> {
        let CurrentSession { session, member } = current;
        let organisation = app.store.organisation().await?;
        let organisation = organisation
            .map(|it| OrganisationView { id: it.id.to_string(), name: it.name })
            .ok_or_else(|| ApiError::internal(&kinora_service::Error::NoOrganisation))?;
        let workspaces = app.store.workspaces().await?.into_iter();
        let workspaces = workspaces.filter(|workspace| workspace.organisation == member.organisation);
        let Person { id, email, name, settings, .. } = &member.person;
        Ok(Self {
            person: SessionPersonView {
                id: id.to_string(),
                email: email.to_string(),
                name: name.clone(),
                settings: settings.into(),
            },
            role: member.role.as_str(),
            actions: member.role.actions().into_iter().map(Action::as_str).collect(),
            organisation,
            workspaces: workspaces.map(|it| WorkspaceView { id: it.id.to_string(), name: it.name }).collect(),
            confirmed_until: session.confirmed_until().to_string(),
            ends_at: session.valid_until().to_string(),
        })
    }
}

impl From<&Member> for MeView {
    fn from(member: &Member) -> Self {
        let Person { id, email, name, settings, created_at, .. } = &member.person;
        Self {
            id: id.to_string(),
            email: email.to_string(),
            name: name.clone(),
            role: member.role.as_str(),
            settings: settings.into(),
            created_at: created_at.to_string(),
        }
    }
}

impl From<&PersonSettings> for SettingsView {
    fn from(settings: &PersonSettings) -> Self {
        Self {
            theme: settings.theme.as_str(),
            times: settings.times.as_str(),
            library: settings.library.as_str(),
            keys: settings.keys,
        }
    }
}

/// The session that an operation opened or changed, with its cookie.
pub(crate) async fn opened_session(
    app: &DashboardState,
    opened: kinora_service::OpenedSession,
    wrap: impl FnOnce(SessionView) -> Data<SessionView>,
) -> Response {
    let (current, cookie) = app.take_over(opened);
    // Without the cookie the person could not use the session, so a failure here does not leave it out.
    let mut response = match SessionView::of(app, &current).await {
        Ok(view) => wrap(view).into_response(),
        Err(error) => error.into_response(),
    };
    set_cookie(&mut response, cookie);
    response
}

/// Sets a cookie.
pub(crate) fn set_cookie(response: &mut Response, cookie: HeaderValue) {
    response.headers_mut().insert(header::SET_COOKIE, cookie);
}
