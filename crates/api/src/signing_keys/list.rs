use axum::extract::State;
use kinora_domain::SigningKey;
use kinora_web::auth::ReadCaller;
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::openapi::schema;
use kinora_web::pagination::ListQuery;
use schemars::JsonSchema;
use serde::Serialize;

use crate::ApiState;

/// A signing key in a list.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ListedSigningKey")]
pub(super) struct KeyView {
    #[schemars(with = "schema::Id")]
    id: String,
    #[schemars(with = "schema::Instant")]
    created_at: String,
}

impl From<&SigningKey> for KeyView {
    fn from(key: &SigningKey) -> Self {
        Self { id: key.id.to_string(), created_at: key.created_at.to_string() }
    }
}

/// `GET /iam/signing-keys`: one page of the workspace's keys, by creation time.
pub(super) async fn list(
    State(app): State<ApiState>,
    caller: ReadCaller,
    query: ListQuery,
) -> Result<Data<Vec<KeyView>>, ApiError> {
    let page_request = query.into_page_request("signing keys")?;
    let found = app.store.signing_key_page(caller.workspace, page_request.list_page).await?;
    let views = found.items.iter().map(KeyView::from).collect();
    Ok(page_request.respond(&app.base_urls, &found, views))
}
