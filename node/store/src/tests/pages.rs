//! Pages that end early, as much has to be read for them.

use crate::{Intent, Ledger, Options, Outcome, Query, query};
use std::collections::BTreeSet;

#[test]
fn pages_that_end_early_hold_every_line_once() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { bytes_max: 64 * 1024 * 1024, segment_bytes: 64 * 1024, ..Options::default() };
    let (ledger, _) = Ledger::open(folder.path(), options).unwrap();
    // Two journals whose segments overlap in time, and one line in fifty that is asked for. Most of them are sealed.
    let journals = [ledger.journal(0, 0), ledger.journal(1, 0)];
    for n in 0..5_000_u64 {
        let model = if n % 50 == 0 { "asked" } else { "not asked for" };
        let intent = Intent { call: n.into(), model, ..Intent::default() };
        let journal = &journals[n as usize % 2];
        let entry = journal.announce(&intent).or_else(|_| {
            ledger.tend(0);
            journal.announce(&intent)
        });
        // Ten end at the same time.
        entry.unwrap().settle(&Outcome { end_ms: 1_000 + n / 10, ..Outcome::default() });
    }
    drop(journals);
    ledger.tend(0);
    for (query, expected) in
        [(Query { model: Some("asked".into()), ..Query::default() }, 100), (Query::default(), 5_000)]
    {
        let (mut calls, mut after, mut early) = (BTreeSet::new(), None, 0);
        loop {
            let limits = (70, 1);
            let page = query::page(ledger.folder(), ledger.sources(), (&query, after), limits).unwrap();
            early += u32::from(page.next.is_some() && page.lines.len() < 70);
            assert!(page.lines.is_sorted_by_key(|line| std::cmp::Reverse(line.end_ms)));
            for line in page.lines {
                assert!(calls.insert(line.call), "twice");
            }
            let Some(next) = page.next else { break };
            assert!(after.is_none_or(|after| next < after), "no further");
            after = Some(next);
        }
        assert_eq!(calls.len(), expected);
        assert!(early > 3, "{early} ended early");
    }
}
