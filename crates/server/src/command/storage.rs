//! `kinora storage`

use std::process::ExitCode;

use clap::Subcommand;
use kinora_blob::{CheckOutcome, CheckedStep, check};
use serde_json::{Value, json};

use super::{Problem, Session};
use crate::place;
use crate::system::SystemRandom;

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Try all that is needed of the store of objects, beside a running server; what is written is removed
    /// again
    Check,
}

pub(super) async fn run(session: &Session, command: Command) -> Result<ExitCode, Problem> {
    match command {
        Command::Check => run_check(session).await,
    }
}

/// A line for each step as soon as it is over; exit code 1 when one has failed.
async fn run_check(session: &Session) -> Result<ExitCode, Problem> {
    let blob = place::open_blob(&session.settings).await?;
    let place = session.settings.storage_place();
    session.say(&format!("checking {place}"));
    let steps = check(&blob, &SystemRandom, |step| session.say(&line(step))).await;
    let is_well = steps.iter().all(|step| step.outcome == CheckOutcome::Passed);
    session.say(if is_well {
        "the store does all that is needed"
    } else {
        "the store cannot be used as it is"
    });
    session.print_json(&json!({
        "storage": place,
        "ok": is_well,
        "steps": steps.iter().map(view).collect::<Vec<_>>(),
    }));
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn line(step: &CheckedStep) -> String {
    let name = step.step.name();
    match &step.outcome {
        CheckOutcome::Passed => format!("ok  {name:<18} {} ms", step.took.as_millis()),
        CheckOutcome::Failed { problem, remedy } => {
            format!("NO  {name:<18} {problem}\n    {remedy}")
        }
        CheckOutcome::NotTried => format!("--  {name:<18} not tried: it builds on a step that failed"),
    }
}

fn view(step: &CheckedStep) -> Value {
    let (ok, problem, remedy) = match &step.outcome {
        CheckOutcome::Passed => (Some(true), None, None),
        CheckOutcome::Failed { problem, remedy } => (Some(false), Some(problem), Some(remedy)),
        CheckOutcome::NotTried => (None, None, None),
    };
    json!({
        "step": step.step.name(),
        "ok": ok,
        "problem": problem,
        "remedy": remedy,
        "tookMs": u64::try_from(step.took.as_millis()).unwrap_or(u64::MAX),
    })
}
