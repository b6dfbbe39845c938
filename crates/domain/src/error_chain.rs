//! Errors with their causes, for logs and for people.

use std::error::Error;

/// An error and its causes: `the database cannot be used: connection refused`.
///
/// A cause is left out where the text in front of it has it already: some errors print their own.
pub fn error_chain(error: &dyn Error) -> String {
    sentence_with_causes(error.to_string(), error.source())
}

/// A sentence, then `cause` and all its own causes. `None` leaves the sentence alone.
pub fn sentence_with_causes(sentence: impl Into<String>, cause: Option<&dyn Error>) -> String {
    let mut text = sentence.into();
    let mut next = cause;
    while let Some(error) = next {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        next = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Printing(&'static str, #[source] io::Error);

    #[test]
    fn causes_follow_once_each() {
        let refused = || io::Error::other("connection refused");
        assert_eq!(error_chain(&refused()), "connection refused");
        assert_eq!(error_chain(&Printing("no answer", refused())), "no answer: connection refused");
        let printed = Printing("no answer: connection refused", refused());
        assert_eq!(error_chain(&printed), "no answer: connection refused");
        assert_eq!(sentence_with_causes("try again", None), "try again");
        assert_eq!(
            sentence_with_causes("try again", Some(&Printing("no answer", refused()))),
            "try again: no answer: connection refused"
        );
    }
}
