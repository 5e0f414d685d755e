//! Behaviours queued for the requests to come, for all keys or for one.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use super::behaviour::Behaviour;

/// Steps that may wait.
const STEPS_MAX: usize = 10_000;

#[derive(Debug)]
struct Step {
    key: Option<String>,
    behaviour: Behaviour,
}

/// The queue of steps; each is used by the first request that it fits.
#[derive(Debug, Default)]
pub(crate) struct Script(Mutex<VecDeque<Step>>);

impl Script {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Step>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds steps from `["status=500", {"delay_ms": 5}]` or `{"key": "sk-a", "steps": [...]}`.
    pub(crate) fn add_json(&self, body: &[u8]) -> Result<usize, String> {
        let script: Value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
        let key = script.get("key").and_then(Value::as_str);
        let steps = script.get("steps").unwrap_or(&script).as_array();
        let steps =
            steps.ok_or("a script is a list of steps, or an object with `steps` and perhaps `key`")?;
        let steps = steps.iter().map(Behaviour::from_json).collect::<Result<Vec<_>, _>>()?;
        self.add(key, steps)
    }

    /// Adds steps; returns how many wait.
    pub(crate) fn add(&self, key: Option<&str>, steps: Vec<Behaviour>) -> Result<usize, String> {
        let mut queue = self.lock();
        if queue.len() + steps.len() > STEPS_MAX {
            return Err(format!("at most {STEPS_MAX} steps may wait"));
        }
        queue.extend(steps.into_iter().map(|behaviour| Step { key: key.map(str::to_owned), behaviour }));
        Ok(queue.len())
    }

    /// Takes the first step for this key or for any key.
    pub(crate) fn take(&self, key: &str) -> Behaviour {
        let mut queue = self.lock();
        let fits = queue.iter().position(|step| step.key.as_deref().is_none_or(|wanted| wanted == key));
        fits.and_then(|at| queue.remove(at)).map(|step| step.behaviour).unwrap_or_default()
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    pub(crate) fn clear(&self) {
        self.lock().clear();
    }
}
