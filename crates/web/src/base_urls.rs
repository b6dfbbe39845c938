//! The base URLs at which clients and players reach this server.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kinora_domain::Upload;
use kinora_store::Store;

/// Base URLs of the addresses in responses, without a slash at the end (C-38).
#[derive(Debug, Clone)]
pub struct BaseUrls {
    /// Base URL of the API and the pages.
    pub public: String,
    /// Base URL of manifests and segments.
    pub stream: String,
    /// Base URL of images, such as thumbnails.
    pub images: String,
}

impl BaseUrls {
    /// The signed address of a direct upload.
    pub fn signed_upload_url(&self, store: &Store, upload: &Upload) -> String {
        format!("{}/upload/{}", self.public, URL_SAFE_NO_PAD.encode(store.sign_upload(upload)))
    }
}
