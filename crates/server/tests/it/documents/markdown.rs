//! The code blocks of a Markdown document.

use std::cell::Cell;
use std::path::Path;

use super::repository;

/// A document of the repository.
pub(crate) struct Document {
    path: String,
    blocks: Vec<Block>,
}

/// Languages of code blocks. Of these only `sh` holds commands; a block of another language fails, so that no
/// command hides in it.
const LANGUAGES: [&str; 9] = ["sh", "text", "json", "js", "python", "html", "http", "nginx", "swift"];

struct Block {
    language: String,
    /// The line of text before it, which names the file of a program.
    before: String,
    text: String,
    is_used: Cell<bool>,
}

impl Document {
    /// Reads it; `path` is relative to the repository.
    pub(crate) fn read(path: &str) -> Self {
        let content = std::fs::read_to_string(repository().join(path)).expect("the document exists");
        let (mut blocks, mut open, mut before) = (Vec::new(), None, String::new());
        for line in content.lines() {
            match (line.trim_start().strip_prefix("```"), open.take()) {
                (Some(language), None) => {
                    assert!(LANGUAGES.contains(&language), "{path}: a code block of language {language:?}");
                    open = Some(Block::new(language, &before));
                }
                (Some(_), Some(block)) => blocks.push(block),
                (None, Some(mut block)) => {
                    block.text += line;
                    block.text.push('\n');
                    open = Some(block);
                }
                (None, None) if !line.is_empty() => line.clone_into(&mut before),
                (None, None) => {}
            }
        }
        assert!(open.is_none(), "{path}: a code block does not end");
        Self { path: path.to_owned(), blocks }
    }

    /// The shell block that contains `part`. Panics unless it is a single one.
    pub(crate) fn block(&self, part: &str) -> String {
        let mut found = self.commands().filter(|block| block.text.contains(part));
        let (Some(block), None) = (found.next(), found.next()) else {
            panic!("{}: not a single block with {part:?}", self.path)
        };
        block.is_used.set(true);
        block.text.clone()
    }

    /// All shell blocks that were not taken before, in order.
    pub(crate) fn remaining(&self) -> Vec<String> {
        let unused = self.commands().filter(|block| !block.is_used.replace(true));
        unused.map(|block| block.text.clone()).collect()
    }

    /// Panics if a shell block was not taken.
    pub(crate) fn check_all_used(&self) {
        assert_eq!(self.remaining(), Vec::<String>::new(), "{}: blocks that no test runs", self.path);
    }

    /// Writes the program whose introduction says "Save … as `name`" into the folder.
    pub(crate) fn save_file(&self, name: &str, language: &str, folder: &Path) {
        let is_it =
            |block: &&Block| block.language == language && block.before.contains(&format!("as `{name}`"));
        let block = self.blocks.iter().find(is_it).unwrap_or_else(|| panic!("{}: no {name}", self.path));
        std::fs::write(folder.join(name), &block.text).expect("the folder of the test can be written");
    }

    fn commands(&self) -> impl Iterator<Item = &Block> {
        self.blocks.iter().filter(|block| block.language == "sh")
    }
}

impl Block {
    fn new(language: &str, before: &str) -> Self {
        let (language, before) = (language.to_owned(), before.to_owned());
        Self { language, before, text: String::new(), is_used: Cell::new(false) }
    }
}
