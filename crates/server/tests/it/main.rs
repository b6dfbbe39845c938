//! Tests of the whole server, seen only from outside: HTTP, webhooks, the command line and what a process leaves behind.
//!
//! Begin with [`support::TestApp`], a real server in this process: SQLite, a folder and ffmpeg are the real ones.

mod support;
