//! The guarantees of the store, tested on a real folder and on a real S3 server, and with a server that
//! misbehaves.

#![allow(clippy::unwrap_used, reason = "a test may panic; clippy knows only functions marked as tests")]

mod bucket;
mod check;
mod checkpoint;
mod fault;
mod folder;
mod grow;
mod grow_bucket;
mod grow_folder;
mod list;
mod multipart_log;
mod read;
mod s3_fault_server;
mod s3_faults;
mod s3_faults_growing;
mod test_store;
mod write;
