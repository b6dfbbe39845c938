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
mod user;
mod webhook;
mod workspace;

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::settings::{RoleArgs, Settings, SettingsArgs};

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
    Serve(RoleArgs),
    /// Create, list, rename and delete workspaces
    #[command(subcommand)]
    Workspace(workspace::Command),
    /// Create, list and revoke access tokens
    #[command(subcommand)]
    Token(token::Command),
    /// Create and manage the people of the dashboard
    #[command(subcommand)]
    User(user::Command),
    /// Create, list, rotate and enable webhooks
    #[command(subcommand)]
    Webhook(webhook::Command),
    /// Create, show, wait for and delete media
    #[command(subcommand)]
    Media(media::Command),
    /// Create a media from a file; run the same command again to resume
    Upload(upload::Arguments),
    /// Create a demo clip and print the next steps
    Demo(demo::Arguments),
    /// Check the settings and the machine for problems
    Doctor(RoleArgs),
    /// Test the object store
    #[command(subcommand)]
    Storage(storage::Command),
    /// Show the effective settings
    Config(RoleArgs),
}

/// The settings and the output format of a command.
pub(crate) struct CommandContext {
    settings: Settings,
    is_json: bool,
}

impl CommandContext {
    /// Whether secrets may be printed: to a person at a terminal, or a script with `--json`. Never into a
    /// log.
    fn shows_secrets(&self) -> bool {
        self.is_json || std::io::stdout().is_terminal()
    }

    /// The option that a printed command needs to find the same database, with a space before it.
    fn data_option(&self) -> String {
        self.settings.data_option()
    }
}

/// Runs the command.
pub(crate) async fn run(arguments: Arguments) -> Result<ExitCode, CommandError> {
    let Arguments { args, config, json, command } = arguments;
    let given = args.with_secret_key(std::env::var("KINORA_SECRET_KEY").ok());
    let given = match &command {
        Command::Serve(roles) | Command::Doctor(roles) | Command::Config(roles) => given.with_roles(roles),
        _ => given,
    };
    let settings = match command {
        Command::Serve(_) => Settings::resolve(given, config.as_deref())?,
        _ => Settings::resolve_with_served_urls(given, config.as_deref())?,
    };
    let context = CommandContext { settings, is_json: json };
    match command {
        Command::Serve(_) => serve::run(context).await,
        Command::Workspace(command) => workspace::run(&context, command).await.map(done),
        Command::Token(command) => token::run(&context, command).await.map(done),
        Command::User(command) => user::run(&context, command).await.map(done),
        Command::Webhook(command) => webhook::run(&context, command).await.map(done),
        Command::Media(command) => media::run(&context, command).await.map(done),
        Command::Upload(arguments) => upload::run(&context, arguments).await.map(done),
        Command::Demo(arguments) => demo::run(&context, arguments).await.map(done),
        Command::Doctor(_) => doctor::run(&context).await,
        Command::Storage(command) => storage::run(&context, command).await,
        Command::Config(_) => config::run(&context).map(done),
    }
}

fn done((): ()) -> ExitCode {
    ExitCode::SUCCESS
}
