//! A look into the files of a data folder.

use crate::command::Machine;

#[tokio::test]
async fn of_the_secret_of_a_token_no_file_holds_more_than_its_hash() {
    let machine = Machine::new().await;
    let token = machine.token("Development", "read-write").await;
    let mut files = 0;
    for file in std::fs::read_dir(machine.data_dir()).unwrap().map(|entry| entry.unwrap().path()) {
        if file.is_file() {
            let bytes = std::fs::read(&file).unwrap();
            let found = bytes.windows(token.secret.len()).any(|window| window == token.secret.as_bytes());
            assert!(!found, "{} holds the secret", file.display());
            files += 1;
        }
    }
    assert!(files > 1, "a database and a key at least");
}
