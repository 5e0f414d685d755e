//! Which tool call a delta belongs to, and whether its arguments are complete.

use crate::ir::{Sealed, Text};

/// Most tool calls in one answer.
const CALLS_MAX: usize = 1024;

/// Most bytes of arguments that wait for the name of their tool.
const WAITING_BYTES_MAX: usize = 1 << 20;

/// A tool call of the answer.
#[derive(Debug, Default)]
pub(super) struct Call {
    /// The vendor's index, where it gave one.
    wire_index: Option<u64>,
    pub(super) id: Text,
    pub(super) name: Text,
    /// The block, once it is open.
    pub(super) block: Option<u32>,
    pub(super) closed: bool,
    /// Arguments that came before the name.
    pub(super) waiting: Vec<Text>,
    waiting_bytes: usize,
    pub(super) arguments: Arguments,
    /// A proof that came before the name.
    pub(super) proof: Option<Sealed>,
}

impl Call {
    /// Keeps arguments until the tool's name is known.
    pub(super) fn wait(&mut self, text: Text) -> Result<(), String> {
        self.waiting_bytes += text.escaped().len();
        if self.waiting_bytes > WAITING_BYTES_MAX {
            return Err("a tool call without a name".to_owned());
        }
        self.waiting.push(text);
        Ok(())
    }
}

/// The calls of one answer, in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct Calls(pub(super) Vec<Call>);

impl Calls {
    /// The position of the call that a delta belongs to: by its index, unless another id with a name says that it is
    /// a new call (some providers count all parallel calls as 0); without an index by its id; without either the
    /// last one.
    pub(super) fn find(
        &mut self,
        wire_index: Option<u64>,
        id: Option<&Text>,
        name: Option<&Text>,
    ) -> Result<usize, String> {
        let id = id.filter(|id| !id.is_empty());
        let named = name.is_some_and(|name| !name.is_empty());
        let known = match (wire_index, id) {
            (Some(index), _) => self.0.iter().rposition(|call| call.wire_index == Some(index)),
            (None, Some(id)) => self.0.iter().rposition(|call| call.id == *id),
            (None, None) => self.0.len().checked_sub(1),
        };
        let other = |at: &usize| match (self.0.get(*at), id) {
            (Some(call), Some(id)) => named && !call.id.is_empty() && call.id != *id,
            _ => false,
        };
        let position = match known {
            Some(at) if !other(&at) => at,
            _ => {
                // Where indexes tell nothing apart, an id that was seen belongs to its call.
                let same = id
                    .filter(|_| wire_index.is_none() || known.is_some())
                    .and_then(|id| self.0.iter().rposition(|call| call.id == *id));
                if same.is_none() && self.0.len() >= CALLS_MAX {
                    return Err(format!("more than {CALLS_MAX} tool calls"));
                }
                same.unwrap_or_else(|| {
                    self.0.push(Call { wire_index, ..Call::default() });
                    self.0.len() - 1
                })
            }
        };
        if let (Some(call), Some(id)) = (self.0.get_mut(position), id)
            && call.id.is_empty()
        {
            call.id = id.clone();
        }
        Ok(position)
    }
}

/// Follows the text of arguments to see when their JSON value is complete.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Arguments {
    depth: usize,
    in_string: bool,
    escaped: bool,
    begun: bool,
}

impl Arguments {
    /// More of the text.
    pub(super) fn feed(&mut self, plain: &str) {
        for byte in plain.bytes() {
            if self.in_string {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => self.in_string = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => (self.depth, self.begun) = (self.depth + 1, true),
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
    }

    /// Whether a whole object has come.
    pub(super) const fn complete(&self) -> bool {
        self.begun && self.depth == 0 && !self.in_string
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_complete_with_their_last_brace() {
        let complete = |parts: &[&str]| {
            let mut arguments = Arguments::default();
            parts.iter().for_each(|part| arguments.feed(part));
            arguments.complete()
        };
        for (parts, expected) in [
            (&["{}"][..], true),
            (&["{\"a", "\":\"}", "\"", "}"], true),
            (&["{\"a\":\"\\", "\"}\"}"], true),
            (&["{\"a\":\"\\", "\"}"], false),
            (&["{\"a\":{}"], false),
            (&[""], false),
            (&[], false),
        ] {
            assert_eq!(complete(parts), expected, "{parts:?}");
        }
    }

    #[test]
    fn a_delta_finds_its_call() {
        let mut calls = Calls::default();
        let mut find = |index: Option<u64>, id: &str, name: &str| {
            calls.find(index, Some(&Text::new(id)), Some(&Text::new(name))).unwrap()
        };
        assert_eq!(find(Some(0), "a", "f"), 0);
        assert_eq!(find(Some(0), "", ""), 0);
        assert_eq!(find(Some(0), "a", "f"), 0, "id and name are repeated");
        assert_eq!(find(Some(0), "x", ""), 0, "an id of its own in every delta");
        assert_eq!(find(Some(0), "b", "g"), 1, "all calls count as 0");
        assert_eq!(find(Some(0), "", ""), 1);
        assert_eq!(find(Some(0), "a", "f"), 0);
        assert_eq!(find(None, "", ""), 1, "the last one");
        assert_eq!(find(None, "c", "h"), 2);
        assert_eq!(find(Some(7), "d", "i"), 3);
        assert_eq!(find(None, "c", ""), 2);
        assert_eq!(find(Some(8), "d", "i"), 4, "an index of its own, though the id is known");
        assert_eq!(find(Some(7), "", ""), 3);
    }
}
