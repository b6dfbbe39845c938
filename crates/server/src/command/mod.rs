//! The command line: arguments and output.
//!
//! Commands open the database and the objects themselves and run concurrently with a server (C-42). Results
//! go to standard output, everything else to standard error; `--json` prints one JSON value.

mod config;
mod demo;
mod doctor;
mod error;
mod media;
mod permissions;
mod print;
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

use crate::settings::{Settings, SettingsArgs};

pub(crate) use error::CommandError;
pub(crate) use print::print_problem;

/// Kinora: the video and audio API that anyone can host.
#[derive(Debug, Parser)]
#[command(name = "kinora", version, about, max_term_width = 100, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(flatten)]
    args: SettingsArgs,
    /// Configuration file [default: kinora.toml, if it exists]
    #[arg(long, global = true, env = "KINORA_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print one JSON value instead of text
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

/// The commands (C-30).
#[derive(Debug, Subcommand)]
enum Command {
    /// Run the server
    Serve,
    /// Create and list workspaces
    #[command(subcommand)]
    Workspace(workspace::Command),
    /// Create, list and revoke access tokens
    #[command(subcommand)]
    Token(token::Command),
    /// Create, list, rotate and enable webhooks
    #[command(subcommand)]
    Webhook(webhook::Command),
    /// Create, show, wait for and delete media
    #[command(subcommand)]
    Media(media::Command),
    /// Create a media from a file; run the same command again to resume
    Upload(upload::Arguments),
    /// Create a demo clip and print the next steps
    Demo,
    /// Check the settings and the machine for problems
    Doctor,
    /// Test the object store
    #[command(subcommand)]
    Storage(storage::Command),
    /// Show the effective settings
    Config,
}

/// The settings and the output format of a command.
pub(crate) struct CommandContext {
    settings: Settings,
    is_json: bool,
}

/// Runs the command.
pub(crate) async fn run(arguments: Arguments) -> Result<ExitCode, CommandError> {
    let Arguments { args, config, json, command } = arguments;
    let given = args.with_secret_key(std::env::var("KINORA_SECRET_KEY").ok());
    let settings = match command {
        Command::Serve => Settings::resolve(given, config.as_deref())?,
        _ => Settings::resolve_with_served_urls(given, config.as_deref())?,
    };
    let context = CommandContext { settings, is_json: json };
    match command {
        Command::Serve => serve::run(context).await,
        Command::Workspace(command) => workspace::run(&context, command).await.map(done),
        Command::Token(command) => token::run(&context, command).await.map(done),
        Command::Webhook(command) => webhook::run(&context, command).await.map(done),
        Command::Media(command) => media::run(&context, command).await.map(done),
        Command::Upload(arguments) => upload::run(&context, arguments).await.map(done),
        Command::Demo => demo::run(&context).await.map(done),
        Command::Doctor => doctor::run(&context).await,
        Command::Storage(command) => storage::run(&context, command).await,
        Command::Config => config::run(&context).map(done),
    }
}

fn done((): ()) -> ExitCode {
    ExitCode::SUCCESS
}
