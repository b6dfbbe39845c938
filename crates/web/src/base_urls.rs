//! Where clients and players reach this server.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kinora_domain::Upload;
use kinora_store::Store;

/// Bases of the addresses in responses, without a slash at the end (C-38).
#[derive(Debug, Clone)]
pub struct BaseUrls {
    /// Of the API and the pages.
    pub public: String,
    /// Of manifests and segments.
    pub stream: String,
    /// Of images, such as thumbnails.
    pub images: String,
}

impl BaseUrls {
    /// The signed address of a direct upload.
    pub fn upload(&self, store: &Store, upload: &Upload) -> String {
        format!("{}/upload/{}", self.public, URL_SAFE_NO_PAD.encode(store.sign_upload(upload)))
    }
}
