//! `kinora config`

use super::{CommandContext, CommandError};

/// Shows the effective settings, with secrets hidden.
pub(super) fn run(context: &CommandContext) -> Result<(), CommandError> {
    let json = context.settings.redacted_json();
    let lines: Vec<_> = json
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| match value {
            serde_json::Value::String(text) => format!("{name:<17} {text}"),
            other => format!("{name:<17} {other}"),
        })
        .collect();
    context.print(&json, &lines.join("\n"));
    Ok(())
}
