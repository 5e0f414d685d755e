//! Bedrock Converse.

use super::json;
use trestle_dialect::Framing;

pub(super) fn check(wire: &[u8]) -> Result<(), String> {
    // Lengths and checksums.
    let mut reader = Framing::EventStream.reader(1 << 24);
    let block = reader.feed(wire.to_vec().into()).map_err(|error| error.to_string())?;
    if block.len() != wire.len() {
        return Err("the last message is not complete".to_owned());
    }
    let (mut lines, mut state) = (String::new(), State::default());
    for (i, event) in Framing::EventStream.events(wire).enumerate() {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).map_err(|error| error.to_string());
        let (name, data) = (text(event.name)?, text(&event.data.ok_or("a message without parts")?)?);
        lines.push_str(&format!("{name} {data}\n"));
        let value = json(&data)?;
        if (i == 0) != (name == "messageStart") {
            return Err(format!("messageStart comes once and first in\n{lines}"));
        }
        if !state.step(&name, &value) {
            return Err(format!("{name} has no place here in\n{lines}"));
        }
    }
    Ok(())
}

#[derive(Default)]
struct State {
    next: u64,
    open: bool,
    stopped: bool,
    ended: bool,
}

impl State {
    /// Whether the event may come now.
    fn step(&mut self, name: &str, value: &serde_json::Value) -> bool {
        let in_turn = !self.stopped && value["contentBlockIndex"] == self.next;
        match name {
            "messageStart" => value["role"] == "assistant",
            "contentBlockStart" => {
                let opens = in_turn && !self.open && value["start"].is_object();
                self.open = true;
                opens
            }
            // A text opens with its first delta.
            "contentBlockDelta" => {
                self.open = true;
                in_turn && value["delta"].is_object()
            }
            "contentBlockStop" => {
                let closes = in_turn && self.open;
                (self.open, self.next) = (false, self.next + 1);
                closes
            }
            "messageStop" => {
                let stops = !self.open && !self.stopped && value["stopReason"].is_string();
                self.stopped = true;
                stops
            }
            "metadata" => {
                let ends = self.stopped && !self.ended;
                self.ended = true;
                ends && value["usage"]["totalTokens"].is_u64() && value["metrics"]["latencyMs"].is_u64()
            }
            _ => false,
        }
    }
}
