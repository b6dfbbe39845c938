//! Tests of the whole server from outside: HTTP, webhooks, the command line, and the files of a process.
//!
//! Begin with [`support::TestApp`], a real server in this process, with a real database, object store and
//! ffmpeg. [`support::Ground`] selects them: all tests run on SQLite with a folder and on PostgreSQL with
//! S3. Only [`folder`] and [`cluster`] are about one of the pairs.

#![allow(clippy::unwrap_used, reason = "a test may panic; clippy knows only functions marked as tests")]

mod api;
mod cluster;
mod command;
mod dashboard;
mod documents;
mod events;
mod fault;
mod folder;
mod media;
mod private;
mod support;
mod upload;
