//! Which connections are told what, by a clock that the test sets.

use super::{Clock, Limits, Order, Vitals};
use std::{
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Wake, Waker},
    time::Duration,
};

const LIMITS: Limits =
    Limits { head: Duration::from_millis(100), idle: Duration::from_millis(1000), connections_max: 1 };

struct Subject {
    clock: Rc<Clock>,
    vitals: Rc<Vitals>,
}

impl Subject {
    fn new() -> Self {
        let clock = Rc::new(Clock::default());
        Self { vitals: Rc::new(Vitals::new(Rc::clone(&clock))), clock }
    }

    /// What it would be told at this time, with a slack of 10 ms.
    fn at(&self, now_ms: u64) -> Option<(Order, &'static str)> {
        self.clock.set(now_ms);
        self.vitals.examine(&LIMITS, Duration::from_millis(10))
    }
}

#[test]
fn a_first_head_that_never_ends_is_closed() {
    let subject = Subject::new();
    assert_eq!(subject.at(109), None, "the slack is never taken from the client");
    subject.vitals.on_read();
    assert_eq!(subject.at(110), Some((Order::Close, "slow_head")), "bytes alone are no progress");
}

#[test]
fn a_running_request_is_left_alone() {
    let subject = Subject::new();
    let running = subject.vitals.begin();
    assert_eq!(subject.at(1_000_000), None);
    drop(running);
    assert_eq!(subject.at(1_001_009), None, "idle begins with the end of the request");
    assert_eq!(subject.at(1_001_010), Some((Order::Finish, "idle")));
}

#[test]
fn idle_begins_when_the_answer_is_written() {
    let subject = Subject::new();
    drop(subject.vitals.begin());
    assert_eq!(subject.at(500), None);
    subject.vitals.on_written();
    assert_eq!(subject.at(1509), None);
    assert_eq!(subject.at(1510), Some((Order::Finish, "idle")));
}

#[test]
fn a_later_head_has_its_own_time() {
    let subject = Subject::new();
    drop(subject.vitals.begin());
    assert_eq!(subject.at(900), None);
    subject.vitals.on_read();
    assert_eq!(subject.at(950), None);
    subject.vitals.on_read();
    assert_eq!(subject.at(1009), None);
    assert_eq!(subject.at(1010), Some((Order::Close, "slow_head")));
}

#[test]
fn a_client_that_takes_nothing_is_closed() {
    let subject = Subject::new();
    let _running = subject.vitals.begin();
    subject.vitals.on_stuck();
    assert_eq!(subject.at(900), None);
    subject.vitals.on_written();
    subject.vitals.on_stuck();
    assert_eq!(subject.at(1909), None);
    assert_eq!(subject.at(1910), Some((Order::Close, "stuck")));
}

#[test]
fn http2_is_idle_between_requests_whatever_is_read() {
    let subject = Subject::new();
    subject.vitals.multiplex();
    subject.vitals.on_read();
    assert_eq!(subject.at(1009), None);
    assert_eq!(subject.at(1010), Some((Order::Finish, "idle")));
    subject.vitals.tell(Order::Finish);
    assert_eq!(subject.at(6019), None);
    assert_eq!(subject.at(6020), Some((Order::Close, "finished")), "it does not say goodbye");
}

#[test]
fn taking_back_many_requests_ends_the_connection() {
    let subject = Subject::new();
    subject.vitals.multiplex();
    let order = || subject.vitals.order(Waker::noop());
    let answer = || subject.vitals.begin().answered();
    answer();
    for _ in 0..101 {
        drop(subject.vitals.begin());
    }
    assert_eq!(order(), Order::Serve, "one was answered, so 101 may be taken back");
    drop(subject.vitals.begin());
    assert_eq!(order(), Order::Dismiss);
}

#[test]
fn a_stronger_order_wakes_and_a_weaker_is_not_heard() {
    struct Flag(AtomicBool);
    impl Wake for Flag {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let subject = Subject::new();
    let flag = Arc::new(Flag(AtomicBool::new(false)));
    let waker = Waker::from(Arc::clone(&flag));
    assert_eq!(subject.vitals.order(&waker), Order::Serve);
    subject.vitals.tell(Order::Dismiss);
    assert!(flag.0.swap(false, Ordering::Relaxed));
    subject.vitals.tell(Order::Finish);
    assert_eq!(subject.vitals.order(&waker), Order::Dismiss);
    assert!(!flag.0.load(Ordering::Relaxed));
}
