//! `kinora user`: the people of the dashboard.

mod create;
mod list;

use clap::{Subcommand, ValueEnum};
use kinora_domain::{Actor, Email, Member, Role};
use kinora_service::{Error, MadeLink};
use kinora_store::{Opener, Store};
use serde_json::{Value, json};

use super::print::print_notice;
use super::{CommandContext, CommandError};
use crate::backends;

pub(super) use create::first_administrator;

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List the people
    List,
    /// Create a person and print the link with which they choose a password
    Create(create::Arguments),
    /// Print a link with which a person chooses a new password
    Reset {
        /// Their email address
        email: String,
    },
    /// Give a person another role
    Role {
        /// Their email address
        email: String,
        /// The new role
        role: RoleArg,
    },
    /// Disable a person: their sessions end, and they cannot sign in
    Disable {
        /// Their email address
        email: String,
    },
    /// Enable a person again
    Enable {
        /// Their email address
        email: String,
    },
    /// List or end the sessions of a person
    Sessions {
        /// Their email address
        email: String,
        /// End all of them
        #[arg(long)]
        end: bool,
    },
    /// Remove a person; what they made stays
    Remove {
        /// Their email address
        email: String,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum RoleArg {
    /// Everything, also people, workspaces and access tokens
    #[value(alias = "admin")]
    Administrator,
    /// Read and write in all workspaces
    Member,
    /// Only read
    Viewer,
}

impl From<RoleArg> for Role {
    fn from(role: RoleArg) -> Self {
        match role {
            RoleArg::Administrator => Self::Admin,
            RoleArg::Member => Self::Member,
            RoleArg::Viewer => Self::Viewer,
        }
    }
}

pub(super) async fn run(context: &CommandContext, command: Command) -> Result<(), CommandError> {
    if matches!(command, Command::Reset { .. }) && !context.shows_secrets() {
        return Err(CommandError::new(
            "the output is not a terminal, so no link is printed; run the command in a terminal, or with --json",
        ));
    }
    let store = backends::open_store(&context.settings, Opener::Command).await?;
    let (service, actor) = (backends::service(&store), Actor::command_line());
    match command {
        Command::List => list::people(context, &store).await?,
        Command::Create(arguments) => create::run(context, &store, arguments).await?,
        Command::Reset { email } => {
            let member = find(&store, &email).await?;
            let made = explain(service.reset_link(&actor, member.person.id).await, &member)?;
            let mut output = list::view(&member);
            output["link"] = link_view(context, &made);
            context.print(&output, &link_text(context, &member, &made));
        }
        Command::Role { email, role } => {
            let member = find(&store, &email).await?;
            let member = explain(service.set_role(&actor, member.person.id, role.into()).await, &member)?;
            print_state(context, &member, &format!("is {}", member.role.word()));
        }
        Command::Disable { email } => {
            let member = find(&store, &email).await?;
            let member = explain(service.disable_person(&actor, member.person.id).await, &member)?;
            print_state(context, &member, "is disabled");
        }
        Command::Enable { email } => {
            let member = find(&store, &email).await?;
            let member = explain(service.enable_person(&actor, member.person.id).await, &member)?;
            print_state(context, &member, "is enabled");
            if member.person.password.is_none() {
                print_notice(&format!(
                    "there is no password yet; get a link with\n  {}",
                    reset(context, &member)
                ));
            }
        }
        Command::Sessions { email, end: false } => {
            list::sessions(context, &store, &find(&store, &email).await?).await?;
        }
        Command::Sessions { email, end: true } => {
            let member = find(&store, &email).await?;
            let ended = explain(service.end_sessions(&actor, member.person.id).await, &member)?;
            let mut output = list::view(&member);
            output["endedSessions"] = ended.into();
            context.print(&output, &format!("ended {ended} sessions of {}", member.person.email));
        }
        Command::Remove { email } => {
            let member = find(&store, &email).await?;
            explain(service.remove_person(&actor, member.person.id).await, &member)?;
            let output = json!({"id": member.person.id.to_string(), "removed": true});
            context.print(&output, &format!("removed {}", member.person.email));
        }
    }
    Ok(())
}

fn print_state(context: &CommandContext, member: &Member, state: &str) {
    context.print(&list::view(member), &format!("{} {state}", member.person.email));
}

/// The address, or a sentence for the person who typed it.
pub(super) fn parse_email(text: &str) -> Result<Email, CommandError> {
    Email::parse(text)
        .map_err(|problem| CommandError::new(format!("{text:?} is no email address: it {problem}")))
}

/// The person with this address, or an error that says where to look.
async fn find(store: &Store, email: &str) -> Result<Member, CommandError> {
    let email = parse_email(email)?;
    let unknown = || {
        CommandError::new(format!(
            "nobody has the email address {email}; `kinora user list` shows all people"
        ))
    };
    store.member_by_email(&email).await?.ok_or_else(unknown)
}

/// Adds the next step to the errors of an operation on a person.
fn explain<T>(result: Result<T, Error>, member: &Member) -> Result<T, CommandError> {
    let email = &member.person.email;
    result.map_err(|error| match error {
        Error::LastAdministrator => CommandError::new(format!(
            "{email} is the last administrator who can sign in; make another one first, with `kinora user role \
             EMAIL administrator` or `kinora user create`"
        )),
        Error::PersonDisabled => CommandError::new(format!(
            "{email} is disabled; enable the account first, with `kinora user enable {email}`"
        )),
        error => error.into(),
    })
}

fn link_view(context: &CommandContext, made: &MadeLink) -> Value {
    json!({
        "kind": made.link.kind.as_str(),
        "url": made.link.kind.url(&context.settings.public_url, &made.secret),
        "endsAt": made.link.ends_at.to_string(),
    })
}

fn link_text(context: &CommandContext, member: &Member, made: &MadeLink) -> String {
    format!(
        "{} chooses a password here, once, until {}:\n{}",
        member.person.email,
        made.link.ends_at,
        made.link.kind.url(&context.settings.public_url, &made.secret)
    )
}

/// The command that prints a link for a person.
fn reset(context: &CommandContext, member: &Member) -> String {
    format!("kinora user reset {}{}", member.person.email, context.data_option())
}
