//! What vectors are for, in the words of the vendors.

use crate::ir::Text;

/// What vectors are for. Models that know it make better ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Task {
    /// To find documents with it.
    Query,
    /// To be found.
    Document,
    /// To be put into a class.
    Classification,
    /// To be put into groups.
    Clustering,
    /// To be compared with others of the kind.
    Similarity,
    /// A question whose answer is to be found.
    Question,
    /// A claim whose proof is to be found.
    Claim,
    /// A question whose answer is code.
    CodeQuery,
    /// A picture (Cohere).
    Picture,
    /// A word of the client's own vendor.
    Other(Text),
}

/// A word for a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    /// Means the same.
    Exact(&'static str),
    /// The nearest that there is; it is named.
    Near(&'static str),
    /// There is none.
    None,
}

use Word::{Exact, Near};

/// Each task in the words of Gemini, Cohere and Nova.
const WORDS: [(Task, Word, Word, Word); 9] = [
    (Task::Query, Exact("RETRIEVAL_QUERY"), Exact("search_query"), Exact("TEXT_RETRIEVAL")),
    (Task::Document, Exact("RETRIEVAL_DOCUMENT"), Exact("search_document"), Exact("GENERIC_INDEX")),
    (Task::Classification, Exact("CLASSIFICATION"), Exact("classification"), Exact("CLASSIFICATION")),
    (Task::Clustering, Exact("CLUSTERING"), Exact("clustering"), Exact("CLUSTERING")),
    (Task::Similarity, Exact("SEMANTIC_SIMILARITY"), Near("clustering"), Near("CLUSTERING")),
    (Task::Question, Exact("QUESTION_ANSWERING"), Near("search_query"), Near("TEXT_RETRIEVAL")),
    (Task::Claim, Exact("FACT_VERIFICATION"), Near("search_query"), Near("TEXT_RETRIEVAL")),
    (Task::CodeQuery, Exact("CODE_RETRIEVAL_QUERY"), Near("search_query"), Near("TEXT_RETRIEVAL")),
    (Task::Picture, Word::None, Exact("image"), Near("GENERIC_INDEX")),
];

impl Task {
    /// From a word of Gemini. No task is one of its words.
    pub(super) fn from_gemini(word: Text) -> Option<Self> {
        match word.plain().as_ref() {
            "TASK_TYPE_UNSPECIFIED" | "" => None,
            plain => Some(find(plain, |words| words.1).unwrap_or(Self::Other(word))),
        }
    }

    /// From a word of Cohere.
    pub(super) fn from_cohere(word: Text) -> Self {
        find(&word.plain(), |words| words.2).unwrap_or(Self::Other(word))
    }

    /// From a word of Nova, which has one for each kind of what is sought.
    pub(super) fn from_nova(word: Text) -> Self {
        match word.plain().as_ref() {
            "GENERIC_RETRIEVAL" | "DOCUMENT_RETRIEVAL" => Self::Query,
            plain => find(plain, |words| words.3).unwrap_or(Self::Other(word)),
        }
    }

    /// From what clients of OpenAI say to other vendors behind its API: a word of Cohere, Gemini or Voyage.
    pub(super) fn from_any(word: &Text) -> Option<Self> {
        match word.plain().as_ref() {
            "query" => Some(Self::Query),
            "document" | "passage" => Some(Self::Document),
            plain => find(plain, |words| words.1).or_else(|| find(plain, |words| words.2)),
        }
    }

    pub(super) fn gemini(&self) -> Word {
        self.word(|words| words.1)
    }

    pub(super) fn cohere(&self) -> Word {
        self.word(|words| words.2)
    }

    pub(super) fn nova(&self) -> Word {
        self.word(|words| words.3)
    }

    fn word(&self, of: fn(&(Self, Word, Word, Word)) -> Word) -> Word {
        WORDS.iter().find(|words| words.0 == *self).map_or(Word::None, of)
    }
}

fn find(plain: &str, of: fn(&(Task, Word, Word, Word)) -> Word) -> Option<Task> {
    let known = WORDS.iter().find(|words| matches!(of(words), Exact(word) if word == plain));
    known.map(|words| words.0.clone())
}
