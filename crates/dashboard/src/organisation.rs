//! The organisation of this installation.

use axum::extract::State;
use kinora_domain::{Actor, Organisation};
use kinora_service::Error as OperationError;
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::extract::JsonBody;
use serde::Serialize;

use crate::DashboardState;
use crate::authenticate::CurrentSession;
use crate::error;
use crate::names::name_of_body;
use crate::request_origin::Client;

/// The organisation.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OrganisationView {
    id: String,
    name: String,
    created_at: String,
}

/// `GET /organisation`
pub(crate) async fn read(State(app): State<DashboardState>) -> Result<Data<OrganisationView>, ApiError> {
    let organisation = app.store.organisation().await?;
    let organisation = organisation.ok_or_else(|| ApiError::internal(&OperationError::NoOrganisation))?;
    Ok(Data::ok(organisation.into()))
}

/// `PATCH /organisation`: another name.
pub(crate) async fn rename(
    State(app): State<DashboardState>,
    CurrentSession { member, .. }: CurrentSession,
    client: Client,
    JsonBody(body): JsonBody,
) -> Result<Data<OrganisationView>, ApiError> {
    let name = name_of_body(&body, Organisation::parse_name)?;
    let actor = Actor::person(&member, client.origin);
    let renamed = Box::pin(app.service.rename_organisation(&actor, &name)).await;
    Ok(Data::ok(renamed.map_err(error::from_operation)?.into()))
}

impl From<Organisation> for OrganisationView {
    fn from(organisation: Organisation) -> Self {
        Self {
            id: organisation.id.to_string(),
            name: organisation.name,
            created_at: organisation.created_at.to_string(),
        }
    }
}
