//! The command line: what may be typed, and what is printed.
//!
//! Commands open the database and the objects themselves and work beside a running server
//! (C-42). Results go to standard output, everything else to standard error; `--json` prints one JSON value.

mod config;
mod demo;
mod doctor;
mod media;
mod print;
mod private;
mod problem;
mod progress;
mod serve;
mod storage;
mod takeover;
mod token;
mod upload;
mod webhook;
mod workspace;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::settings::{Given, Settings};

pub(crate) use print::print_problem;
pub(crate) use problem::Problem;

/// Kinora: the video and audio API that anyone can host.
#[derive(Debug, Parser)]
#[command(name = "kinora", version, about, max_term_width = 100, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(flatten)]
    given: Given,
    /// File with settings [default: kinora.toml, if there is one]
    #[arg(long, global = true, env = "KINORA_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print one JSON value instead of text for people
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the server
    Serve,
    /// Make and list workspaces
    #[command(subcommand)]
    Workspace(workspace::Command),
    /// Make, list and revoke access tokens
    #[command(subcommand)]
    Token(token::Command),
    /// Make, list, rotate and enable webhooks
    #[command(subcommand)]
    Webhook(webhook::Command),
    /// Make, look at, wait for and delete media
    #[command(subcommand)]
    Media(media::Command),
    /// Make a media of a file; stopped, the same command goes on
    Upload(upload::Arguments),
    /// Take in a clip, and show how to go on
    Demo,
    /// Look for what keeps the server from working
    Doctor,
    /// Try the store of objects
    #[command(subcommand)]
    Storage(storage::Command),
    /// Show the settings in force
    Config,
}

/// What every command is given.
pub(crate) struct Session {
    settings: Settings,
    is_json: bool,
}

/// Does what was typed.
pub(crate) async fn run(arguments: Arguments) -> Result<ExitCode, Problem> {
    let Arguments { given, config, json, command } = arguments;
    let given = given.with_secret_key(std::env::var("KINORA_SECRET_KEY").ok());
    let settings = match command {
        Command::Serve => Settings::resolve(given, config.as_deref())?,
        _ => Settings::resolve_beside_server(given, config.as_deref())?,
    };
    let session = Session { settings, is_json: json };
    match command {
        Command::Serve => serve::run(session).await,
        Command::Workspace(command) => workspace::run(&session, command).await.map(done),
        Command::Token(command) => token::run(&session, command).await.map(done),
        Command::Webhook(command) => webhook::run(&session, command).await.map(done),
        Command::Media(command) => media::run(&session, command).await.map(done),
        Command::Upload(arguments) => upload::run(&session, arguments).await.map(done),
        Command::Demo => demo::run(&session).await.map(done),
        Command::Doctor => doctor::run(&session).await,
        Command::Storage(command) => storage::run(&session, command).await,
        Command::Config => config::run(&session).map(done),
    }
}

fn done((): ()) -> ExitCode {
    ExitCode::SUCCESS
}
