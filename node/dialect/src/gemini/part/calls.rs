//! Ids of calls, which Gemini may leave out: made up where they are missing, the same each time that a conversation
//! comes again.

use crate::ir::Text;
use std::collections::{HashMap, VecDeque};

/// The calls of a conversation or an answer, in order.
#[derive(Debug, Default)]
pub(in crate::gemini) struct Calls {
    /// Begins the ids that are made up.
    prefix: String,
    made: usize,
    /// Calls without a result: the names by id, and the ids by name in the order of the calls. Of the latter some may
    /// have a result.
    open: HashMap<Text, Text>,
    by_name: HashMap<Text, VecDeque<Text>>,
}

impl Calls {
    /// Of a conversation.
    pub(in crate::gemini) fn of_conversation() -> Self {
        Self { prefix: "gemini_call_".to_owned(), ..Self::default() }
    }

    /// Of the answer with this id.
    pub(in crate::gemini) fn of_answer(id: &Text) -> Self {
        Self { prefix: format!("call_{}_", id.plain()), ..Self::default() }
    }

    /// The id of the next call.
    pub(super) fn call(&mut self, id: Option<Text>, name: &Text) -> Text {
        let id = id.filter(|id| !id.is_empty()).unwrap_or_else(|| self.make());
        self.open.insert(id.clone(), name.clone());
        self.by_name.entry(name.clone()).or_default().push_back(id.clone());
        id
    }

    /// The id of the call that a result belongs to: by its id, else the first one of that name that has none. False
    /// if there is no such call.
    pub(super) fn result(&mut self, id: Option<Text>, name: &Text) -> (Text, bool) {
        let id = id.filter(|id| !id.is_empty());
        if let Some(id) = &id
            && self.open.remove(id).is_some_and(|called| called == *name)
        {
            return (id.clone(), true);
        }
        while let Some(first) = self.by_name.get_mut(name).and_then(VecDeque::pop_front) {
            if self.open.remove(&first).is_some() {
                return (first, true);
            }
        }
        (id.unwrap_or_else(|| self.make()), false)
    }

    fn make(&mut self) -> Text {
        self.made += 1;
        Text::new(&format!("{}{}", self.prefix, self.made))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_find_their_calls() {
        let text = Text::new;
        let mut calls = Calls::of_conversation();
        assert!(calls.call(None, &text("f")).is("gemini_call_1"));
        assert!(calls.call(Some(text("")), &text("g")).is("gemini_call_2"));
        assert!(calls.call(None, &text("f")).is("gemini_call_3"));
        assert!(calls.call(Some(text("x")), &text("f")).is("x"));
        assert_eq!(calls.result(Some(text("x")), &text("f")), (text("x"), true));
        assert_eq!(calls.result(None, &text("g")), (text("gemini_call_2"), true));
        assert_eq!(calls.result(None, &text("f")), (text("gemini_call_1"), true));
        // An id of the client's own.
        assert_eq!(calls.result(Some(text("y")), &text("f")), (text("gemini_call_3"), true));
        assert_eq!(calls.result(Some(text("x")), &text("f")), (text("x"), false));
        assert_eq!(calls.result(None, &text("h")), (text("gemini_call_4"), false));
    }
}
