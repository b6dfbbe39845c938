//! The common parts of all tests: a server, a client, and waiting.

mod app;
mod backend;
mod children;
mod client;
pub(crate) mod document;
mod golden;
mod kernel;
mod log;
mod openapi_check;
mod options;
mod process;
mod program;
mod running_server;
mod wait;

pub(crate) use app::{HOOK, Hook, TestApp, Token, text};
pub(crate) use backend::{Ground, Pair};
pub(crate) use children::{Child, stop_and_list};
pub(crate) use client::{Answer, Request, Sending};
pub(crate) use golden::Golden;
pub(crate) use kernel::without_landlock;
pub(crate) use options::{Faults, Options, limits};
pub(crate) use process::bind as reserve;
pub(crate) use program::{Program, Run, Running};
pub(crate) use wait::{DEADLINE, until};
