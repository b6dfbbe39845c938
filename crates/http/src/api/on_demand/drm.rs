use kinora_domain::DrmConfigurationId;

use crate::auth::Reader;
use crate::envelope::Data;
use crate::error::ApiError;
use crate::extract::{PageQuery, PathId};

/// `GET /on-demand/drm-configurations`: none, for there is no licence service that one could belong to (contract decision 16).
pub(crate) async fn drm_configurations(_: Reader, query: PageQuery) -> Data<[(); 0]> {
    Data::empty_page(query)
}

/// `GET /on-demand/drm-configurations/{drmConfigurationId}`: 404, as of every id that is none of the caller's workspace.
pub(crate) async fn drm_configuration(_: Reader, _: PathId<DrmConfigurationId>) -> ApiError {
    ApiError::drm_configuration_not_found()
}
