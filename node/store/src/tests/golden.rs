//! Bytes that the first version wrote. They are never changed: what is on disks must stay readable. A later format gets
//! fixtures of its own beside these.

use super::{HEADER, Made};
use crate::{
    Basis, Change, Charge, Dimension, Intent, Ledger, Options, Outcome, OutcomeKind, Owner, Position, Query,
    Tokens, segment::HEADER_BYTES,
};
use std::fs;

const SEGMENT_HEADER: &str = include_str!("golden/header.hex");
const INTENT: &str = include_str!("golden/intent.hex");
const OUTCOME: &str = include_str!("golden/outcome.hex");
const SUMMARY: &str = include_str!("golden/summary.hex");

fn hex(bytes: &[u8]) -> String {
    let lines =
        bytes.chunks(32).map(|line| line.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
    lines.map(|line| line + "\n").collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<_> = text.chars().filter(|c| !c.is_whitespace()).collect();
    let bytes = digits.chunks(2).map(|pair| pair.iter().collect::<String>());
    bytes.map(|pair| u8::from_str_radix(&pair, 16).unwrap()).collect()
}

fn tags() -> [Box<str>; 2] {
    ["eu".into(), "batch job".into()]
}

const CHARGES: [Charge; 2] = [
    Charge { limit: 0x1122_3344_5566_7788, subject: 9, window_kind: 0, window: 500, amount: 1 },
    Charge { limit: 2, subject: u128::MAX, window_kind: 3, window: u64::MAX, amount: 123_456_789 },
];

fn intent(tags: &[Box<str>]) -> Intent<'_> {
    Intent {
        call: 0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10,
        request_id: "0a1b2c",
        attempt: 2,
        start_ms: 1_700_000_000_123,
        owner: Owner { customer: "acme", team: "growth", user: "zoë", key: "web" },
        tags,
        model: "chat",
        provider: "openai",
        credential: "main",
        vendor_model: "gpt-4o-mini",
        operation: "chat",
        batch: true,
        service_tier: "flex",
        price_version: 300,
        tokens: Tokens { input: 1_000, output: 4_096, ..Tokens::default() },
        nano_usd: 2_500_000,
        charges: &CHARGES,
    }
}

const OUTCOME_SAID: Outcome<'_> = Outcome {
    end_ms: 1_700_000_002_000,
    kind: OutcomeKind::Broken,
    status: 200,
    basis: Basis::Reported,
    tokens: Tokens {
        input: 1,
        cached_read: 2,
        cache_write_5m: 3,
        cache_write_1h: 4,
        output: 5,
        reasoning: 6,
        audio_in: 7,
        audio_out: 8,
        image_in: 9,
        image_out: 10,
        images: 11,
        audio_ms: 12,
        characters: 1 << 40,
    },
    nano_usd: 987_654_321,
    service_tier: "priority",
    amounts: &[1, 77],
};

/// `TRESTLE_GOLDEN=write` writes the fixtures; for a new one, never for one that has been released.
#[test]
fn what_is_written_is_what_it_was() {
    let mut made = Made::new();
    let tags = tags();
    let begin = made.intent(&intent(&tags)).start;
    let middle = made.outcome(&OUTCOME_SAID, begin, 2).start;
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(HEADER.name.segment()), &made.bytes).unwrap();
    Ledger::open(folder.path(), Options::default()).unwrap();
    let summary = fs::read(folder.path().join(HEADER.name.summary())).unwrap();
    let parts = [
        ("header", SEGMENT_HEADER, &made.bytes[..48]),
        ("intent", INTENT, &made.bytes[begin..middle]),
        ("outcome", OUTCOME, &made.bytes[middle..]),
        ("summary", SUMMARY, &summary),
    ];
    for (name, _, written) in parts {
        if std::env::var("TRESTLE_GOLDEN").is_ok_and(|what| what == "write") {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/tests/golden");
            fs::write(format!("{path}/{name}.hex"), hex(written)).unwrap();
        }
    }
    for (name, golden, written) in parts {
        assert_eq!(hex(written), golden, "{name}");
    }
}

#[test]
fn what_was_written_is_read() {
    let mut segment = vec![0; HEADER_BYTES];
    segment[..48].copy_from_slice(&unhex(SEGMENT_HEADER));
    segment.extend(unhex(INTENT));
    segment.extend(unhex(OUTCOME));
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(HEADER.name.segment()), &segment).unwrap();
    fs::write(folder.path().join(HEADER.name.summary()), unhex(SUMMARY)).unwrap();
    let (ledger, recovery) = Ledger::open(folder.path(), Options::default()).unwrap();
    assert!(recovery.closed.is_empty());
    let page = ledger.query(&Query::default(), None, 10).unwrap();
    let [line] = &page.lines[..] else { panic!("{page:?}") };
    let (tags, said) = (tags(), OUTCOME_SAID);
    let intent = intent(&tags);
    assert_eq!(
        (line.call, &*line.request_id, line.attempt, line.start_ms),
        (intent.call, intent.request_id, 2, intent.start_ms)
    );
    let Owner { customer, team, user, key } = &line.owner;
    assert_eq!(Owner { customer: &**customer, team: &**team, user: &**user, key: &**key }, intent.owner);
    assert_eq!(line.tags, tags);
    assert_eq!((&*line.model, &*line.provider, &*line.credential), ("chat", "openai", "main"));
    assert_eq!((&*line.vendor_model, &*line.operation, line.batch), ("gpt-4o-mini", "chat", true));
    assert_eq!((&*line.service_tier, line.price_version), ("priority", 300));
    assert_eq!((line.outcome, line.status, line.basis), (said.kind, 200, said.basis));
    assert_eq!((line.end_ms, line.tokens, line.nano_usd), (said.end_ms, said.tokens, said.nano_usd));
    let mut changes = 0;
    let visit = &mut |change: Change<'_>| {
        changes += 1;
        if let Change::Settled { charges, amounts, .. } = change {
            assert_eq!((charges, amounts), (&CHARGES[..], &[1, 77][..]));
        }
    };
    ledger.replay(&Position::default(), &ledger.position(), visit).unwrap();
    assert_eq!(changes, 2);
    let sums = ledger.sums(&Query::default(), &[Dimension::User, Dimension::Tag, Dimension::Day]).unwrap();
    let groups: Vec<_> = sums.iter().map(|sum| sum.group.join(",")).collect();
    assert_eq!(groups, ["zoë,batch job,2023-11-14", "zoë,eu,2023-11-14"]);
    assert!(sums.iter().all(|sum| sum.reported.nano_usd == 987_654_321 && sum.estimated.calls == 0));
}
