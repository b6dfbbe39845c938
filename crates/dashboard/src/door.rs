//! What a client without a session may know.

use axum::extract::State;
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use serde::Serialize;

use crate::DashboardState;

/// The command that lets the first person in, without the option that names the data.
pub const CREATE_COMMAND: &str = "kinora user create --email you@example.com --role administrator";

/// The ways to sign in.
const SIGN_IN: [&str; 1] = ["password"];

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DoorView {
    organisation: OrganisationName,
    sign_in: [&'static str; SIGN_IN.len()],
    /// Whether one person can sign in.
    has_people: bool,
    public_url: String,
    create_command: String,
}

#[derive(Serialize)]
pub(crate) struct OrganisationName {
    name: String,
}

impl OrganisationName {
    /// The name of the organisation of this installation.
    pub(crate) async fn read(app: &DashboardState) -> Result<Self, ApiError> {
        let organisation = app.store.organisation().await?;
        Ok(Self { name: organisation.map(|organisation| organisation.name).unwrap_or_default() })
    }
}

/// `GET /door`: where one is, and how to sign in. The path of the data folder is in the command only until a
/// person can sign in.
pub(crate) async fn door(State(app): State<DashboardState>) -> Result<Data<DoorView>, ApiError> {
    let has_people = app.store.can_a_person_sign_in().await?;
    let create_command = if has_people { CREATE_COMMAND } else { app.create_command.as_str() };
    Ok(Data::ok(DoorView {
        organisation: OrganisationName::read(&app).await?,
        sign_in: SIGN_IN,
        has_people,
        public_url: app.base_urls.public.clone(),
        create_command: create_command.to_owned(),
    }))
}
