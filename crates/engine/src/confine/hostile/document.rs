//! `docs/confinement.md`, written from the results of the hostile program.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::Worked;
use super::attacks::{ATTACKS, Attack, Guarantee, Layer};

/// The columns of the page: the missing layer.
const COLUMNS: [(&str, Option<Layer>); 3] = [
    ("All layers", None),
    ("Without Landlock", Some(Layer::Landlock)),
    ("Without seccomp", Some(Layer::Seccomp)),
];

const PAGE: &str = include_str!("page.md");

/// Markers of the tables in the page.
const TABLES: [(&str, Guarantee); 5] = [
    ("<!-- files -->", Guarantee::Files),
    ("<!-- network -->", Guarantee::Network),
    ("<!-- calls -->", Guarantee::Calls),
    ("<!-- limits -->", Guarantee::Limits),
    ("<!-- allowed -->", Guarantee::None),
];

/// The page with the attempts that worked in each column.
pub(super) fn page(worked: &[Worked; 3]) -> String {
    TABLES.iter().fold(PAGE.to_owned(), |page, (marker, guarantee)| {
        page.replace(marker, table(*guarantee, worked).trim_end())
    })
}

fn table(guarantee: Guarantee, worked: &[Worked; 3]) -> String {
    let titles = COLUMNS.map(|(title, _)| title).join(" | ");
    let mut table = format!("| A hostile program tries to | By | {titles} |\n|---|---|---|---|---|\n");
    for (number, attack) in ATTACKS.iter().enumerate().filter(|(_, attack)| attack.guarantee == guarantee) {
        let cells = [0, 1, 2].map(|column| cell(attack, COLUMNS[column].1, &worked[column][number]));
        writeln!(table, "| {} | {} | {} |", attack.aim, attack.calls, cells.join(" | ")).unwrap();
    }
    table
}

fn cell(attack: &Attack, absent: Option<Layer>, worked: &[String]) -> &'static str {
    if !attack.always_works_unconfined && absent == Some(attack.layer) {
        "depends"
    } else if worked.is_empty() {
        "refused"
    } else {
        "**works**"
    }
}

/// Compares the page with the one in the repository. With `INSTA_UPDATE=always` it is written first, as
/// snapshots are.
pub(super) fn check(page: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/confinement.md");
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        fs::write(&path, page).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap_or_default(), page, "docs/testing.md says how it is written");
}
