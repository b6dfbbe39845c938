//! A baseline for Kinora where a comparison with another program would be unfair: the minimal work with the
//! same libraries.
//!
//! ```text
//! kinora-yardstick answer ADDRESS FILE            responds to every GET with the bytes of FILE
//! kinora-yardstick receive ADDRESS                receives posts and counts them
//! kinora-yardstick post URL FILE COUNT AT_ONCE    posts the bytes of FILE COUNT times
//! kinora-yardstick commit-store DATABASE WRITERS SECONDS    prints commits per second, through the store
//! kinora-yardstick commit-each FOLDER WRITERS SECONDS       the same rows with one sync per commit
//! kinora-yardstick commit-media DATABASE WRITERS SECONDS    prints new media per second, with all rows
//! kinora-yardstick complete ENDPOINT BUCKET FILE            prints the ms to complete a multipart upload
//! kinora-yardstick verify PEM TOKEN COUNT                   verifies the signature of a token COUNT times
//! ```
//!
//! Not part of the product. The number of threads is that of the allowed processors, so pinning controls it.

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
