//! Tests of the whole server, seen only from outside: HTTP, webhooks, the command line and what a process leaves behind.
//!
//! Begin with [`support::TestApp`], a real server in this process: SQLite, a folder and ffmpeg are the real ones.

#![allow(clippy::unwrap_used, reason = "a test may panic; clippy knows only functions marked as tests")]

mod api;
mod command;
mod events;
mod fault;
mod media;
mod support;
