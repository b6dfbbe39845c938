//! Tests of the whole server, seen only from outside: HTTP, webhooks, the command line and what a process
//! leaves behind.
//!
//! Begin with [`support::TestApp`], a real server in this process: database, object store and ffmpeg are real
//! ones. [`support::Ground`] says which: all of this runs on SQLite with a folder and on PostgreSQL with S3,
//! but [`folder`] and [`shared`], which are about one of them.

#![allow(clippy::unwrap_used, reason = "a test may panic; clippy knows only functions marked as tests")]

mod api;
mod command;
mod events;
mod fault;
mod folder;
mod media;
mod private;
mod shared;
mod support;
mod upload;
