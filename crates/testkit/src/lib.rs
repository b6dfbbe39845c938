//! Shared test support of all crates: a movable clock, seeded randomness, a scripted source server, a
//! webhook receiver, tiny media, a crash at the n-th write, a bucket of an S3 server. For development only;
//! the binary never links it.
//!
//! Everything here runs on loopback, waits for conditions instead of sleeping, and panics with a sentence
//! when a test misuses the kit.
//!
//! Begin with [`SourceServer`], [`WebhookReceiver`] and [`fixture`].

mod clock;
mod crash;
mod ffmpeg;
pub mod fixture;
mod http;
mod kernel;
pub mod postgres;
mod random;
mod s3;
pub mod schema_25;
mod signature;
mod source;
mod waitable;
mod webhook;

pub use clock::MovableClock;
pub use crash::CrashPlan;
pub use ffmpeg::RemovableFfmpeg;
pub use http::Request;
pub use kernel::on_kernel_without;
pub use random::SeededRandom;
pub use s3::S3Bucket;
pub use signature::{verify_service_signature, verify_standard_webhooks};
pub use source::{Source, SourceServer};
pub use webhook::{Answer, ReceivedPost, WebhookReceiver};
