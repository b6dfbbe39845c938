//! What every test of the whole begins with: a server of its own, a client, and ways to wait.

mod app;
mod client;
mod golden;
mod options;
mod process;
mod wait;

pub(crate) use app::{Hook, TestApp, Token, text};
pub(crate) use client::{Answer, Request};
pub(crate) use golden::{Golden, is_instant};
pub(crate) use options::{Faults, Options};
pub(crate) use wait::{DEADLINE, until};
