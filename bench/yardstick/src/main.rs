//! What Kinora is held against where no other program would be fair: the least that the same libraries can
//! do.
//!
//! ```text
//! kinora-yardstick answer ADDRESS FILE            answers the bytes of FILE to every GET
//! kinora-yardstick receive ADDRESS                takes posts and counts them
//! kinora-yardstick post URL FILE COUNT AT_ONCE    posts the bytes of FILE so many times
//! kinora-yardstick commit-store DATABASE WRITERS SECONDS    commits through Kinora's store, and prints commits a second
//! kinora-yardstick commit-each FOLDER WRITERS SECONDS       the same rows with one sync a commit
//! kinora-yardstick commit-media DATABASE WRITERS SECONDS    the rows of new media through the store, and prints media a second
//! kinora-yardstick complete ENDPOINT BUCKET FILE            completes an upload in parts, and prints how many ms that took
//! kinora-yardstick verify PEM TOKEN COUNT                   verifies the signature of a token so many times
//! ```
//!
//! No part of the product. Threads: as many as processors are allowed, so that pinning decides.

mod answer;
mod commit;
mod complete;
mod post;
mod receive;
mod verify;

use std::process::ExitCode;

type Error = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["answer", address, file] => answer::run(address, file).await,
        ["receive", address] => receive::run(address).await,
        ["post", url, file, count, at_once] => post::run(url, file, count, at_once).await,
        ["commit-store", database, writers, seconds] => commit::store(database, writers, seconds).await,
        ["commit-each", folder, writers, seconds] => commit::each(folder, writers, seconds).await,
        ["commit-media", database, writers, seconds] => commit::media(database, writers, seconds).await,
        ["complete", endpoint, bucket, file] => complete::run(endpoint, bucket, file).await,
        ["verify", pem, token, count] => verify::run(pem, token, count),
        _ => Err("usage: answer ADDRESS FILE | receive ADDRESS | post URL FILE COUNT AT_ONCE | \
                commit-store DATABASE WRITERS SECONDS | commit-each FOLDER WRITERS SECONDS | \
                commit-media DATABASE WRITERS SECONDS | \
                complete ENDPOINT BUCKET FILE | verify PEM TOKEN COUNT"
            .into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            use std::io::Write as _;
            let _ = writeln!(std::io::stderr(), "kinora-yardstick: {error}");
            ExitCode::FAILURE
        }
    }
}
