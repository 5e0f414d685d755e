//! What is told of a limit that has no room: which, of whom, what is left, when there is room again.

use std::{fmt::Write, sync::Arc, time::Duration};
use trestle_config::{Limit, Measure, OwnerKind};
use trestle_counters::{Refused, Share, Window};
use trestle_dialect::{Refusal, RefusalKind};

/// A retry is not asked for later than this, however long a window is: limits are raised by people meanwhile.
const RETRY_MAX: Duration = Duration::from_secs(24 * 3600);

/// A limit that has no room for a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reached {
    /// Which.
    pub(crate) limit: Arc<Limit>,
    /// The word for logs and metrics.
    pub(crate) cause: &'static str,
    /// For the client.
    pub(crate) message: String,
    /// When there is room again, if time makes room.
    pub(crate) retry_after: Option<Duration>,
}

impl Reached {
    /// What refused an amount.
    pub(crate) fn new(limit: &Arc<Limit>, refused: &Refused, (asked, now_ms): (u64, u64)) -> Self {
        let most = limit.amount_at(limit.window.id_at(now_ms));
        let share = refused.share.filter(|share| *share != Share::WHOLE);
        let mut message = format!("the {}: {}", named(limit), standing(limit, refused, (most, asked)));
        let never = share.is_some_and(|share| share.of(most) < asked);
        let wait = refused.retry_at_ms.map(|at| Duration::from_millis(at.saturating_sub(now_ms)));
        match (wait, refused.resets_at_ms) {
            _ if limit.measure == Measure::Concurrent || never => {}
            (Some(wait), _) => {
                let _ = write!(message, "; there is room again at {}", time(now_ms, wait));
            }
            (None, Some(resets)) => {
                let wait = Duration::from_millis(resets.saturating_sub(now_ms));
                let reset = time(now_ms, wait);
                let _ = write!(message, "; it is more than the whole limit, which resets at {reset}");
            }
            (None, None) => {}
        }
        let cause = if limit.measure == Measure::NanoUsd { "budget_exceeded" } else { "limit_reached" };
        let limit = Arc::clone(limit);
        Self {
            limit,
            cause,
            message,
            retry_after: wait.map(|wait| wait.clamp(Duration::from_secs(1), RETRY_MAX)),
        }
    }

    /// What a strict limit cannot bound.
    pub(crate) fn unbounded(limit: &Arc<Limit>, why: &str) -> Self {
        let cause = if limit.measure == Measure::NanoUsd { "budget_exceeded" } else { "limit_reached" };
        let message = format!("the {} is strict, and {why}", named(limit));
        Self { limit: Arc::clone(limit), cause, message, retry_after: None }
    }

    /// As a refusal of the whole request.
    pub(crate) fn refusal(&self) -> Refusal {
        let kind = if self.cause == "budget_exceeded" {
            RefusalKind::BudgetExceeded
        } else {
            RefusalKind::RateLimited
        };
        let mut refusal = Refusal::new(kind, self.message.clone());
        refusal.retry_after = self.retry_after.or(refusal.retry_after);
        refusal
    }
}

/// How the limit stands: `10 requests in 1m are used up`.
fn standing(limit: &Limit, refused: &Refused, (most, asked): (u64, u64)) -> String {
    let (whole, over) = (amount(limit, most), over(limit.window));
    match refused.share.filter(|share| *share != Share::WHOLE) {
        Some(_) if limit.measure == Measure::Concurrent => {
            "it is strict, and nodes of a cluster cannot share what runs at once: it has to be soft"
                .to_owned()
        }
        None if limit.measure == Measure::Concurrent => format!("{most} requests run already"),
        Some(share) if share.is_nothing() => {
            format!(
                "it is strict, and this node has no share of {whole} {over} yet; other nodes may have room"
            )
        }
        Some(share) if share.of(most) < asked => {
            let asked = amount(limit, asked);
            format!(
                "this request may take {asked}, and this node has no more than its share, {share} of {whole} {over}"
            )
        }
        Some(share) if refused.left == 0 => {
            format!("this node's share, {share} of {whole} {over}, is used up; other nodes may have room")
        }
        Some(share) => {
            let (left, asked) = (amount(limit, refused.left), amount(limit, asked));
            format!(
                "{left} of this node's share, {share} of {whole} {over}, are left, and this request may take {asked}"
            )
        }
        None if refused.left == 0 => format!("{whole} {over} are used up"),
        None => {
            let (left, asked) = (amount(limit, refused.left), amount(limit, asked));
            format!("{left} of {whole} {over} are left, and this request may take {asked}")
        }
    }
}

/// `limit requests/1m of team growth`.
pub(crate) fn named(limit: &Limit) -> String {
    let what = if limit.measure == Measure::NanoUsd { "budget" } else { "limit" };
    let owner = &limit.owner;
    let name = match owner.kind {
        OwnerKind::KeyProvider => owner.name.replacen('@', " at ", 1),
        _ => owner.name.to_string(),
    };
    format!("{what} `{}` of {} `{name}`", limit.name, owner_word(owner.kind))
}

/// The word for a kind of owner.
pub(crate) const fn owner_word(kind: OwnerKind) -> &'static str {
    match kind {
        OwnerKind::Customer => "customer",
        OwnerKind::Team => "team",
        OwnerKind::User => "user",
        OwnerKind::Key | OwnerKind::KeyProvider => "key",
        OwnerKind::Model => "model",
        OwnerKind::Provider => "provider",
    }
}

/// The word for a measure.
pub const fn measure_word(measure: Measure) -> &'static str {
    match measure {
        Measure::Requests => "requests",
        Measure::InputTokens => "input_tokens",
        Measure::OutputTokens => "output_tokens",
        Measure::Tokens => "tokens",
        Measure::Concurrent => "concurrent",
        Measure::NanoUsd => "usd",
    }
}

fn over(window: Window) -> String {
    match window {
        Window::Standing => "at once".to_owned(),
        Window::Calendar(_) => format!("in this {window}"),
        Window::Rolling(rolling) => {
            format!("in {}", humantime::format_duration(Duration::from_millis(rolling.length_ms())))
        }
    }
}

fn amount(limit: &Limit, amount: u64) -> String {
    match limit.measure {
        Measure::Requests | Measure::Concurrent => format!("{amount} requests"),
        Measure::InputTokens => format!("{amount} input tokens"),
        Measure::OutputTokens => format!("{amount} output tokens"),
        Measure::Tokens => format!("{amount} tokens"),
        Measure::NanoUsd => format!("${}", usd(amount)),
    }
}

/// US dollars with at least two decimals, exactly.
pub fn usd(nano: impl Into<u128>) -> String {
    let nano = nano.into();
    let mut text = itoa::Buffer::new().format(nano / 1_000_000_000).to_owned();
    text.push('.');
    let mut rest = (nano % 1_000_000_000) as u32;
    for place in 0..9 {
        if place > 1 && rest == 0 {
            break;
        }
        text.push(char::from(b'0' + (rest / 100_000_000) as u8));
        rest = rest % 100_000_000 * 10;
    }
    text
}

fn time(now_ms: u64, wait: Duration) -> String {
    let at = std::time::UNIX_EPOCH + Duration::from_millis(now_ms) + wait;
    humantime::format_rfc3339_seconds(at).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trestle_config::{AtLimit, Mode, OnPartition, OnShort, Owner};
    use trestle_counters::Calendar;

    const NOW: u64 = 1_796_000_000_000;

    type Told = (u64, Option<u64>, Option<u64>);

    fn check(measure: Measure, window: Window, refused: Told, expected: &str) {
        check_shared(measure, window, refused, (None, 4_000_000_000), expected);
    }

    fn check_shared(
        measure: Measure,
        window: Window,
        refused: Told,
        (share, asked): (Option<Share>, u64),
        expected: &str,
    ) {
        let owner = Owner { kind: OwnerKind::Team, name: "growth".into() };
        let limit = Arc::new(Limit {
            id: owner.limit_id("x"),
            owner,
            name: "x".into(),
            measure,
            amount: 3_500_000_000,
            window,
            mode: Mode::Strict,
            on_short: OnShort::Refuse,
            on_partition: OnPartition::Share,
            at_limit: AtLimit::Refuse,
            warn_at: [].into(),
            overrides: [].into(),
        });
        let (left, resets_at_ms, retry_at_ms) = refused;
        let refused = Refused { at: 0, limit: limit.id, left, resets_at_ms, retry_at_ms, share };
        assert_eq!(Reached::new(&limit, &refused, (asked, NOW)).message, expected);
    }

    #[test]
    fn in_a_cluster_it_is_said_what_this_node_has() {
        let day = Window::Calendar(Calendar::Day);
        let shared = |share: (u32, u32), asked, left, expected| {
            let share = Share::new(share.0, share.1);
            check_shared(
                Measure::NanoUsd,
                day,
                (left, Some(NOW + 5_000), Some(NOW + 5_000)),
                (share, asked),
                expected,
            );
        };
        shared(
            (1, 3),
            1_000_000_000,
            0,
            "the budget `x` of team `growth`: this node's share, 1/3 of $3.50 in this day, is used up; other nodes may have \
             room; there is room again at 2026-11-30T00:53:25Z",
        );
        shared(
            (1, 3),
            1_000_000_000,
            500_000_000,
            "the budget `x` of team `growth`: $0.50 of this node's share, 1/3 of $3.50 in this day, are left, and this request \
             may take $1.00; there is room again at 2026-11-30T00:53:25Z",
        );
        shared(
            (1, 3),
            2_000_000_000,
            500_000_000,
            "the budget `x` of team `growth`: this request may take $2.00, and this node has no more than its share, 1/3 of \
             $3.50 in this day",
        );
        shared(
            (0, 3),
            1_000_000_000,
            0,
            "the budget `x` of team `growth`: it is strict, and this node has no share of $3.50 in this day yet; other nodes \
             may have room",
        );
        shared(
            (1, 1),
            1_000_000_000,
            0,
            "the budget `x` of team `growth`: $3.50 in this day are used up; there is room again at 2026-11-30T00:53:25Z",
        );
        check_shared(
            Measure::Concurrent,
            Window::Standing,
            (0, None, None),
            (Some(Share::NOTHING), 1),
            "the limit `x` of team `growth`: it is strict, and nodes of a cluster cannot share what runs at once: it has to be \
             soft",
        );
    }

    #[test]
    fn it_is_said_which_limit_of_whom_and_when_there_is_room() {
        let minute = Window::rolling(60_000, 12).unwrap();
        check(
            Measure::Requests,
            minute,
            (0, Some(NOW + 5_000), Some(NOW + 5_000)),
            "the limit `x` of team `growth`: 3500000000 requests in 1m are used up; there is room again at \
             2026-11-30T00:53:25Z",
        );
        check(
            Measure::NanoUsd,
            Window::Calendar(Calendar::Day),
            (1_250_000_000, Some(NOW + 5_000), None),
            "the budget `x` of team `growth`: $1.25 of $3.50 in this day are left, and this request may take $4.00; \
             it is more than the whole limit, which resets at 2026-11-30T00:53:25Z",
        );
        check(
            Measure::Concurrent,
            Window::Standing,
            (0, None, None),
            "the limit `x` of team `growth`: 3500000000 requests run already",
        );
    }

    #[test]
    fn money_is_exact() {
        assert_eq!(usd(u128::MAX), "340282366920938463463374607431.768211455");
        for (nano, text) in [
            (0, "0.00"),
            (1, "0.000000001"),
            (1_500_000_000, "1.50"),
            (1_234_567_891, "1.234567891"),
            (u64::MAX, "18446744073.709551615"),
        ] {
            assert_eq!(usd(nano), text);
        }
    }
}
