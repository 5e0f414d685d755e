//! The rules of the events of a streamed answer (`ir::Event`).

use trestle_dialect::ir::Event;

/// Checks all events of a stream, or the first ones.
pub(crate) fn check(events: &[Event]) -> Result<(), String> {
    let (mut started, mut stopped, mut ended) = (false, false, false);
    let (mut next, mut open) = (0, Vec::new());
    for event in events {
        let early = matches!(event, Event::Start { .. } | Event::KeepAlive | Event::Fault(_));
        let fine = !ended
            && (started || early)
            && match event {
                Event::Start { .. } => !std::mem::replace(&mut started, true),
                Event::BlockStart { index, .. } => {
                    open.push(*index);
                    next += 1;
                    *index + 1 == next && !stopped
                }
                Event::Delta { index, .. } => open.contains(index),
                Event::BlockStop { index } => {
                    let at = open.iter().position(|known| known == index);
                    at.map(|at| open.remove(at)).is_some()
                }
                Event::Stop { .. } => open.is_empty() && !std::mem::replace(&mut stopped, true),
                Event::End => {
                    ended = true;
                    open.is_empty()
                }
                Event::Logprobs(_) | Event::Usage(_) | Event::Fault(_) | Event::KeepAlive => true,
            };
        if !fine {
            return Err(format!("{event:?} has no place there"));
        }
    }
    Ok(())
}
