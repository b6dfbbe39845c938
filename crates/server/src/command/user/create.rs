//! `kinora user create`, and the first administrator of `kinora demo`.

use std::io::{BufRead as _, Read as _};

use clap::Args;
use kinora_domain::{Actor, Email, Member, Password, PasswordHash, Random as _, Role};
use kinora_service::{Error, MadeLink, NewPerson};
use kinora_store::Store;

use super::{RoleArg, link_text, link_view, list, parse_email, reset};
use crate::backends;
use crate::command::print::print_notice;
use crate::command::{CommandContext, CommandError};
use crate::system::SystemRandom;

#[derive(Debug, Args)]
pub(in crate::command) struct Arguments {
    /// Email address: the name to sign in with. Kinora sends no mail
    #[arg(long, value_name = "EMAIL")]
    email: String,
    /// The role
    #[arg(long)]
    role: RoleArg,
    /// Name; without it the person chooses one with the link
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Read the password from standard input, instead of printing a link
    #[arg(long)]
    password_stdin: bool,
}

pub(super) async fn run(
    context: &CommandContext,
    store: &Store,
    arguments: Arguments,
) -> Result<(), CommandError> {
    let Arguments { email, role, name, password_stdin } = arguments;
    let email = parse_email(&email)?;
    let password = match password_stdin {
        true => Some(read_password(&email, name.as_deref())?),
        false => None,
    };
    let new = NewPerson { email, name, role: role.into(), password };
    let (member, link) = create(store, new).await?;
    let mut output = list::view(&member);
    let created = format!("created {}, {}", member.person.email, member.role.word());
    let text = match &link {
        Some(made) if context.shows_secrets() => {
            output["link"] = link_view(context, made);
            format!("{created}\n{}", link_text(context, &member, made))
        }
        Some(_) => {
            print_notice(&format!(
                "the output is not a terminal, so no link is printed; in a terminal, get one with\n  {}",
                reset(context, &member)
            ));
            created
        }
        None => created,
    };
    context.print(&output, &text);
    Ok(())
}

async fn create(store: &Store, new: NewPerson) -> Result<(Member, Option<MadeLink>), CommandError> {
    let email = new.email.clone();
    match backends::service(store).create_person(&Actor::command_line(), new).await {
        Ok(created) => Ok((created.member, created.link)),
        Err(Error::EmailTaken) => Err(CommandError::new(format!(
            "{email} has an account already; `kinora user reset {email}` makes a link for a new password"
        ))),
        Err(error) => Err(error.into()),
    }
}

/// A password from standard input, up to the first line break.
fn read_password(email: &Email, name: Option<&str>) -> Result<PasswordHash, CommandError> {
    /// A character has at most four bytes in UTF-8; the line break has one or two.
    const BYTES_MAX: usize = 4 * Password::CHARS_MAX + 2;
    let unusable = |error| CommandError::with_cause("cannot read the password from standard input", error);
    let mut text = String::new();
    std::io::stdin().lock().take(BYTES_MAX as u64 + 1).read_line(&mut text).map_err(unusable)?;
    let password = text.split(['\r', '\n']).next().unwrap_or_default();
    let known: Vec<_> = [email.as_str()].into_iter().chain(name).collect();
    let password = Password::new(password, &known)
        .map_err(|rejected| CommandError::new(format!("the password {rejected}")))?;
    let mut salt = [0; 16];
    SystemRandom.fill(&mut salt);
    Ok(password.hash(salt))
}

/// A setup link for the first administrator, while no administrator can sign in: for an administrator without
/// a password, else for a new one with this address. `None` if an administrator can sign in, or if the
/// address is that of another person.
pub(in crate::command) async fn first_administrator(
    store: &Store,
    email: Email,
) -> Result<Option<(Member, MadeLink)>, CommandError> {
    let members = store.members().await?;
    let mut administrators =
        members.iter().filter(|member| member.role == Role::Admin && member.person.disabled_at.is_none());
    if administrators.clone().any(|member| member.person.can_sign_in()) {
        return Ok(None);
    }
    let by_email = administrators.clone().find(|member| member.person.email.key() == email.key());
    if let Some(member) = by_email.or_else(|| administrators.next()) {
        let made = backends::service(store).reset_link(&Actor::command_line(), member.person.id).await?;
        return Ok(Some((member.clone(), made)));
    }
    if members.iter().any(|member| member.person.email.key() == email.key()) {
        return Ok(None);
    }
    let new = NewPerson { email, name: None, role: Role::Admin, password: None };
    let (member, link) = create(store, new).await?;
    Ok(link.map(|link| (member, link)))
}
