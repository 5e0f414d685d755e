//! The sweep of a data thread: once in a while looks at all its connections and tells those that take too long.
//!
//! hyper's own timer for heads allocates and registers a timer for each head. Here a connection notes what it does in
//! a few cells, and one timer for all of them looks.

use crate::{
    metric,
    serve::{
        Front,
        vitals::{Clock, Order, Vitals},
    },
};
use std::{
    cell::{OnceCell, RefCell},
    rc::{Rc, Weak},
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::time::MissedTickBehavior;

const INTERVAL_MIN: Duration = Duration::from_millis(20);
const INTERVAL_MAX: Duration = Duration::from_secs(1);

thread_local! {
    static HERE: OnceCell<Rc<Sweep>> = const { OnceCell::new() };
}

/// The connections of one data thread.
#[derive(Debug, Default)]
struct Sweep {
    clock: Rc<Clock>,
    /// Bounded by `connections_max` and what ended since the last look.
    connections: RefCell<Vec<Weak<Vitals>>>,
}

/// Takes note of a new connection on this data thread. The first starts the sweep, which runs as long as the thread.
pub(super) fn register(front: &Arc<Front>) -> Rc<Vitals> {
    let sweep = HERE.with(|here| {
        Rc::clone(here.get_or_init(|| {
            let sweep = Rc::new(Sweep::default());
            tokio::task::spawn_local(Rc::clone(&sweep).run(Arc::clone(front)));
            sweep
        }))
    });
    let vitals = Rc::new(Vitals::new(Rc::clone(&sweep.clock)));
    if *front.draining.borrow() {
        vitals.tell(Order::Finish);
    }
    sweep.connections.borrow_mut().push(Rc::downgrade(&vitals));
    vitals
}

impl Sweep {
    async fn run(self: Rc<Self>, front: Arc<Front>) {
        let started = Instant::now();
        let interval = (front.limits.head.min(front.limits.idle) / 4).clamp(INTERVAL_MIN, INTERVAL_MAX);
        let mut looks = tokio::time::interval(interval);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut draining = front.draining.clone();
        loop {
            let told_to_drain = tokio::select! {
                _ = looks.tick() => false,
                told = draining.changed() => {
                    if told.is_err() {
                        // The node is gone and this thread will follow.
                        return;
                    }
                    true
                }
            };
            self.clock.set(u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX));
            if told_to_drain {
                self.tell_all(Order::Finish);
            }
            self.look(&front, interval);
        }
    }

    fn tell_all(&self, order: Order) {
        for vitals in self.connections.borrow().iter().filter_map(Weak::upgrade) {
            vitals.tell(order);
        }
    }

    fn look(&self, front: &Front, slack: Duration) {
        self.connections.borrow_mut().retain(|connection| {
            let Some(vitals) = connection.upgrade() else {
                return false;
            };
            if let Some((order, reason)) = vitals.examine(&front.limits, slack) {
                metric::connection_closed(reason);
                vitals.tell(order);
            }
            true
        });
    }
}
