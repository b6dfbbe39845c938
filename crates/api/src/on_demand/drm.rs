use kinora_domain::DrmConfigurationId;
use kinora_web::auth::ReadCaller;
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::extract::PathId;
use kinora_web::pagination::ListQuery;

use crate::error;

/// `GET /on-demand/drm-configurations`: an empty list, since there is no licence service to configure
/// (C-16).
pub(crate) async fn drm_configurations(_: ReadCaller, query: ListQuery) -> Result<Data<[(); 0]>, ApiError> {
    Ok(query.into_page_request("DRM configurations")?.empty())
}

/// `GET /on-demand/drm-configurations/{drmConfigurationId}`: 404, as for every id outside the caller's
/// workspace.
pub(crate) async fn drm_configuration(_: ReadCaller, _: PathId<DrmConfigurationId>) -> ApiError {
    error::drm_configuration_not_found()
}
