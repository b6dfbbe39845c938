//! The only code that writes to the terminal.
#![expect(clippy::print_stderr, reason = "commands talk to people here")]

use std::io::Write as _;

use serde_json::Value;

use super::{CommandContext, CommandError};

impl CommandContext {
    /// Prints a result: its JSON, or the text for people.
    pub(super) fn print(&self, json: &Value, text: &str) {
        self.print_json(json);
        self.print_text(text);
    }

    /// Prints only the JSON of a result whose text was printed line by line.
    pub(super) fn print_json(&self, json: &Value) {
        if self.is_json {
            write_line(&json.to_string());
        }
    }

    /// Prints a line of a result for people, as soon as it is known.
    pub(super) fn print_text(&self, text: &str) {
        if !self.is_json {
            write_line(text.trim_end());
        }
    }
}

fn write_line(text: &str) {
    // The reader may close the pipe early (`| head`): that is no failure of the command.
    let _ = writeln!(std::io::stdout().lock(), "{text}");
}

/// Prints a line that is no part of the result: progress, hints, warnings.
pub(super) fn print_notice(line: &str) {
    eprintln!("{line}");
}

/// Prints why the command failed.
pub(crate) fn print_problem(problem: &CommandError) {
    eprintln!("kinora: {problem}");
}

/// Rows under a head, columns as wide as their widest entry.
pub(super) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let mut widths: Vec<usize> = head.iter().map(|cell| cell.chars().count()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |cells: &[String]| {
        let padded: Vec<_> =
            cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        padded.join("  ").trim_end().to_owned()
    };
    let head: Vec<_> = head.iter().map(|cell| (*cell).to_owned()).collect();
    let lines: Vec<_> = std::iter::once(&head).chain(rows).map(|row| line(row)).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_entry() {
        let rows = [vec!["1".to_owned(), "é".to_owned()], vec!["long".to_owned(), String::new()]];
        assert_eq!(table(&["ID", "NAME"], &rows), "ID    NAME\n1     é\nlong");
    }
}
