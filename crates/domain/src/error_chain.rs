//! Errors with their causes, for logs and messages.

use std::error::Error;

/// An error and its causes: `the database cannot be used: connection refused`.
///
/// A cause that the text already contains is skipped: some errors print their own causes.
pub fn error_chain(error: &dyn Error) -> String {
    sentence_with_causes(error.to_string(), error.source())
}

/// A sentence, then `cause` and all its own causes. `None` returns the sentence alone.
pub fn sentence_with_causes(sentence: impl Into<String>, cause: Option<&dyn Error>) -> String {
    let mut text = sentence.into();
    let mut next = cause;
    while let Some(error) = next {
        let more = error.to_string();
        let is_printed = text.ends_with(&more) || text.split(": ").any(|part| part == more);
        if !is_printed {
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
        let middle = Printing("no answer: connection refused: twice", refused());
        assert_eq!(error_chain(&middle), "no answer: connection refused: twice");
        let word = Printing("connection refused by a name", io::Error::other("name"));
        assert_eq!(error_chain(&word), "connection refused by a name");
        let part = Printing("the names differ", io::Error::other("name"));
        assert_eq!(error_chain(&part), "the names differ: name");
        assert_eq!(sentence_with_causes("try again", None), "try again");
        assert_eq!(
            sentence_with_causes("try again", Some(&Printing("no answer", refused()))),
            "try again: no answer: connection refused"
        );
    }
}
