//! What every test of the whole begins with: a server of its own, a client, and ways to wait.

mod app;
mod beside;
mod children;
mod client;
mod described;
pub(crate) mod document;
mod golden;
mod ground;
mod kernel;
mod log;
mod options;
mod process;
mod program;
mod wait;

pub(crate) use app::{HOOK, Hook, TestApp, Token, text};
pub(crate) use children::{Child, stop_and_list};
pub(crate) use client::{Answer, Request, Sending};
pub(crate) use golden::Golden;
pub(crate) use ground::{Ground, Pair};
pub(crate) use kernel::without_landlock;
pub(crate) use options::{Faults, limits};
pub(crate) use process::bind as reserve;
pub(crate) use program::{Program, Run, Running};
pub(crate) use wait::{DEADLINE, until};
