//! A soft limit is one limit, whichever nodes its requests come to.

use crate::nodes::{LIMIT, LIMITED, Mesh};
use std::{
    sync::atomic::{AtomicU64, Ordering::SeqCst},
    time::{Duration, Instant},
};

/// Clients at once, of each node.
const CLIENTS: u64 = 4;
/// A change is told after a tenth of a second; a machine that is busy with other tests takes longer.
const DELAY: Duration = Duration::from_millis(500);

#[test]
fn a_limit_is_reached_once_by_requests_one_after_the_other() {
    let mut mesh = Mesh::of(3);
    mesh.start_all();
    for number in 0..LIMIT {
        mesh.is_let_in(number as usize % 3);
        // The last ones may not come before the others are known.
        if number % 20 == 19 || number + 1 >= LIMIT {
            mesh.all_count(number + 1);
        }
    }
    for node in 0..3 {
        assert_eq!(mesh.chat(node, LIMITED).status, 429);
    }
    assert_eq!(mesh.upstream.account().len() as u64, LIMIT);
    // What a node has counted outlasts it.
    mesh.kill(1);
    mesh.start(1);
    mesh.all_count(LIMIT);
    assert_eq!(mesh.chat(1, LIMITED).status, 429);
}

#[test]
fn requests_at_once_overshoot_a_limit_by_no_more_than_they_may() {
    let mut mesh = Mesh::of(3);
    mesh.start_all();
    let (admitted, begun) = (AtomicU64::new(0), Instant::now());
    std::thread::scope(|scope| {
        let (mesh, admitted) = (&mesh, &admitted);
        for node in 0..3 {
            for _ in 0..CLIENTS {
                scope.spawn(move || {
                    loop {
                        match mesh.chat(node, LIMITED).status {
                            200 => admitted.fetch_add(1, SeqCst),
                            429 => return,
                            other => panic!("{other}"),
                        };
                    }
                });
            }
        }
    });
    let took = begun.elapsed();
    let admitted = admitted.load(SeqCst);
    assert_eq!(mesh.upstream.account().len() as u64, admitted);
    mesh.all_count(admitted);
    // Of the requests that come in a delay a node does not know those of the others; and no request is charged too little.
    let in_delay = admitted as f64 * (DELAY.as_secs_f64() / took.as_secs_f64()).min(1.0);
    let over_max = (in_delay * 2.0 / 3.0).ceil() as u64;
    assert!((LIMIT..=LIMIT + over_max).contains(&admitted), "{admitted} of {LIMIT}, {over_max} over at most");
    for node in 0..3 {
        assert_eq!(mesh.chat(node, LIMITED).status, 429);
    }
}
