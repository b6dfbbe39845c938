use kinora_domain::DrmConfigurationId;

use crate::auth::Reader;
use crate::envelope::Data;
use crate::error::ApiError;
use crate::extract::PathId;
use crate::list_query::ListQuery;

/// `GET /on-demand/drm-configurations`: none, for there is no licence service that one could belong to (contract decision 16).
pub(crate) async fn drm_configurations(_: Reader, query: ListQuery) -> Result<Data<[(); 0]>, ApiError> {
    Ok(query.of_list("DRM configurations")?.empty())
}

/// `GET /on-demand/drm-configurations/{drmConfigurationId}`: 404, as of every id that is none of the caller's workspace.
pub(crate) async fn drm_configuration(_: Reader, _: PathId<DrmConfigurationId>) -> ApiError {
    ApiError::drm_configuration_not_found()
}
