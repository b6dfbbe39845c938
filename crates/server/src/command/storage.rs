//! `kinora storage`

use std::process::ExitCode;

use clap::Subcommand;
use kinora_blob::{CheckOutcome, CheckedStep, check};
use serde_json::{Value, json};

use super::{CommandContext, CommandError};
use crate::backends;
use crate::system::SystemRandom;

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Test all required operations of the object store, also while a server runs; the test objects are
    /// removed
    Check,
}

pub(super) async fn run(context: &CommandContext, command: Command) -> Result<ExitCode, CommandError> {
    match command {
        Command::Check => run_check(context).await,
    }
}

/// Prints a line for each step as soon as it ends; exit code 1 when one has failed.
async fn run_check(context: &CommandContext) -> Result<ExitCode, CommandError> {
    let blob = backends::open_blob(&context.settings).await?;
    let location = context.settings.storage_location();
    context.print_text(&format!("checking {location}"));
    let steps = check(&blob, &SystemRandom, |step| context.print_text(&line(step))).await;
    let is_well = steps.iter().all(|step| step.outcome == CheckOutcome::Passed);
    context.print_text(if is_well {
        "the store supports all required operations"
    } else {
        "the store does not support all required operations"
    });
    context.print_json(&json!({
        "storage": location,
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
        CheckOutcome::NotTried => format!("--  {name:<18} not tested: it depends on a step that failed"),
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
