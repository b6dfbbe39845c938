//! `kinora config`

use super::{CommandError, Session};

/// Shows the effective settings, with secrets hidden.
pub(super) fn run(session: &Session) -> Result<(), CommandError> {
    let shown = session.settings.shown();
    let lines: Vec<_> = shown
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| match value {
            serde_json::Value::String(text) => format!("{name:<17} {text}"),
            other => format!("{name:<17} {other}"),
        })
        .collect();
    session.print(&shown, &lines.join("\n"));
    Ok(())
}
