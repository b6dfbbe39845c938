//! The ids and the time in examples of the OpenAPI document.

/// The id of a media, and of its upload.
pub(crate) const MEDIA: &str = "019a492c-41f3-7001-8203-040506070809";
/// The id of a playback ID.
pub(crate) const PLAYBACK: &str = "8f2c1d4e-6a7b-4c3d-9e0f-1a2b3c4d5e6f";
/// The id of any other resource.
pub(crate) const OTHER: &str = "019a492c-5b20-7c11-9f00-0a0b0c0d0e0f";
/// The id of a workspace.
pub(crate) const WORKSPACE: &str = "019a4900-0000-7000-8000-000000000001";
/// The time of any event.
pub(crate) const TIME: &str = "2026-11-22T10:03:48.595604Z";
