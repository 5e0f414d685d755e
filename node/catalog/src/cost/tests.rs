//! Costs by hand, and the laws that all prices keep.

use super::*;
use crate::Step;
use proptest::{prelude::*, sample::select};
use std::collections::BTreeMap;

fn rates(of: &[(Unit, u64)]) -> Rates {
    of.iter().copied().collect()
}

fn counts(of: &[(Unit, u64)]) -> Counts {
    of.iter().fold(Counts::default(), |counts, (unit, count)| counts.with(*unit, *count))
}

fn stepped() -> Price {
    let step = |tokens, input, flex| Step {
        tokens,
        rates: rates(&[(Unit::Input, input)]),
        services: BTreeMap::from([("flex".to_owned(), rates(&[(Unit::Input, flex)]))]),
    };
    Price {
        rates: rates(&[(Unit::Input, 1000), (Unit::Output, 8000), (Unit::Cached, 100)]),
        above: Some(vec![step(500, 4000, 2000), step(100, 2000, 1000)]),
        services: BTreeMap::from([
            ("flex".to_owned(), rates(&[(Unit::Input, 500)])),
            ("priority".to_owned(), rates(&[(Unit::Input, 3000), (Unit::Output, 9000)])),
        ]),
        variants: BTreeMap::from([("hd".to_owned(), rates(&[(Unit::PerImage, 7)]))]),
    }
}

#[track_caller]
fn check(price: &Price, terms: Terms<'_>, used: &[(Unit, u64)], nano: u64) {
    assert_eq!(price.cost_on(&terms, &counts(used)), nano, "{terms:?} {used:?}");
}

#[test]
fn each_unit_has_its_scale_and_is_rounded_once() {
    let price = Price {
        rates: rates(&[(Unit::Input, 300), (Unit::Output, 400), (Unit::PerImage, 40), (Unit::PerPage, 0)]),
        ..Price::default()
    };
    let standard = Terms::default();
    check(&price, standard, &[], 0);
    check(&price, standard, &[(Unit::Input, 1)], 0);
    check(&price, standard, &[(Unit::Output, 1)], 0);
    // 0.3 and 0.4 are each nothing; together they are more than a half.
    check(&price, standard, &[(Unit::Input, 1), (Unit::Output, 1)], 1);
    check(&price, standard, &[(Unit::Input, 5)], 2);
    check(&price, standard, &[(Unit::PerImage, 3), (Unit::PerPage, 9)], 120);
    check(&price, standard, &[(Unit::PerQuery, 3), (Unit::PerWebSearch, 1)], 0);
    let half = Price { rates: rates(&[(Unit::Input, 500)]), ..Price::default() };
    check(&half, standard, &[(Unit::Input, 1)], 1);
    check(&half, standard, &[(Unit::Input, u64::MAX)], 1 << 63);
}

#[test]
fn what_has_no_price_of_its_own_is_charged_as_what_it_is_part_of() {
    let text = Price { rates: rates(&[(Unit::Input, 1000), (Unit::Output, 8000)]), ..Price::default() };
    let sound = Price {
        rates: rates(&[(Unit::Input, 1000), (Unit::Cached, 100), (Unit::AudioInput, 9000)]),
        ..Price::default()
    };
    let write = Price { rates: rates(&[(Unit::Input, 1000), (Unit::CacheWrite, 1250)]), ..Price::default() };
    let cases = [
        (&text, Unit::Cached, Some((Unit::Input, 1000))),
        (&text, Unit::CacheWrite1h, Some((Unit::Input, 1000))),
        (&text, Unit::AudioCached, Some((Unit::Input, 1000))),
        (&text, Unit::Reasoning, Some((Unit::Output, 8000))),
        (&text, Unit::ImageOutput, Some((Unit::Output, 8000))),
        (&text, Unit::PerImage, None),
        // The discount is for text; what a cached sound costs is not said.
        (&sound, Unit::AudioCached, Some((Unit::AudioInput, 9000))),
        (&sound, Unit::ImageCached, Some((Unit::Cached, 100))),
        (&sound, Unit::Output, None),
        (&write, Unit::CacheWrite12h, Some((Unit::CacheWrite, 1250))),
    ];
    for (price, unit, expected) in cases {
        assert_eq!(price.charged(unit, &Terms::default(), 0), expected, "{unit:?}");
    }
    let used = counts(&[(Unit::AudioCached, 1), (Unit::Reasoning, 1), (Unit::PerQuery, 1)]);
    assert_eq!(sound.unpriced(&used).collect::<Vec<_>>(), [Unit::Reasoning]);
}

#[test]
fn steps_hold_for_all_of_a_request_that_exceeds_them() {
    let (price, standard) = (stepped(), Terms::default());
    check(&price, standard, &[(Unit::Input, 100)], 100);
    check(&price, standard, &[(Unit::Input, 101)], 202);
    check(&price, standard, &[(Unit::Input, 500)], 1000);
    check(&price, standard, &[(Unit::Input, 501)], 2004);
    // Cached tokens count, and keep their rate where the step has none.
    check(&price, standard, &[(Unit::Input, 10), (Unit::Cached, 100)], 30);
    // Output does not count.
    check(&price, standard, &[(Unit::Input, 10), (Unit::Output, 1000)], 8010);
}

#[test]
fn services_and_variants_change_what_they_name() {
    let price = stepped();
    let service = |name| Terms { service: Some(name), variant: None };
    check(&price, service("flex"), &[(Unit::Input, 100), (Unit::Output, 1)], 58);
    check(&price, service("flex"), &[(Unit::Input, 200)], 200);
    check(&price, service("priority"), &[(Unit::Input, 100), (Unit::Output, 1)], 309);
    // No step of its own: not less than the standard one.
    check(&price, service("priority"), &[(Unit::Input, 200)], 600);
    check(&price, service("priority"), &[(Unit::Input, 501)], 2004);
    check(&price, service("default"), &[(Unit::Input, 200)], 400);
    let variant = |name| Terms { service: None, variant: Some(name) };
    check(&price, variant("hd"), &[(Unit::PerImage, 2), (Unit::Input, 1)], 15);
    check(&price, variant("low"), &[(Unit::PerImage, 2), (Unit::Input, 1)], 1);
}

#[test]
fn what_does_not_fit_is_the_largest_number() {
    let price = Price {
        rates: rates(&[(Unit::Input, 1), (Unit::PerImage, u64::MAX), (Unit::PerPage, 1 << 62)]),
        ..Price::default()
    };
    let standard = Terms::default();
    // Modulo 2^128 these would be 0.
    check(&price, standard, &[(Unit::PerPage, 1 << 63)], u64::MAX);
    check(&price, standard, &[(Unit::PerImage, u64::MAX), (Unit::Input, 1)], u64::MAX);
}

fn any_unit() -> impl Strategy<Value = Unit> {
    select(Unit::ALL.as_slice()).prop_map(|(unit, _)| unit)
}

fn some_of(most: u64) -> impl Strategy<Value = Vec<(Unit, u64)>> {
    prop::collection::vec((any_unit(), 0..=most), 0..12)
}

fn any_counts(most: u64) -> impl Strategy<Value = Counts> {
    some_of(most).prop_map(|of| counts(&of))
}

/// Prices without steps, in which nothing is dearer than a sane vendor makes it.
fn flat() -> impl Strategy<Value = Price> {
    some_of(1 << 40).prop_map(|of| Price { rates: rates(&of), ..Price::default() })
}

/// Prices with steps up which every rate grows.
fn rising() -> impl Strategy<Value = Price> {
    let step = (1..5000_u64, some_of(1 << 20));
    (flat(), prop::collection::btree_map(1..2000_u64, step, 0..4)).prop_map(|(mut price, steps)| {
        let mut highest: BTreeMap<Unit, u64> = price.rates.iter().collect();
        let mut above = Vec::new();
        for (tokens, (_, more)) in steps {
            let mut of_step = Rates::default();
            for (unit, rise) in more {
                // Only what is priced already: a rate of its own may be lower than the one it had through another.
                if let Some(before) = highest.get_mut(&unit) {
                    *before += rise;
                    of_step.set(unit, *before);
                }
            }
            above.push(Step { tokens, rates: of_step, services: BTreeMap::new() });
        }
        price.above = Some(above);
        price
    })
}

/// The exact cost in pico-USD, written without the code above: for prices without steps.
fn exact(price: &Price, used: &Counts) -> u128 {
    let mut sum = 0;
    for (unit, count) in used.used() {
        let rate = price.charged(unit, &Terms::default(), 0).map_or(0, |(_, rate)| rate);
        let each = if unit.name().starts_with("per_") { 1000 } else { 1 };
        sum += u128::from(rate) * u128::from(count) * each;
    }
    sum
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn more_of_anything_never_costs_less(
        price in rising(), used in any_counts(3000), unit in any_unit(), more in 0..3000_u64
    ) {
        let grown = used.with(unit, used.get(unit) + more);
        prop_assert!(price.cost(&grown) >= price.cost(&used));
    }

    #[test]
    fn without_steps_costs_add_up(price in flat(), one in any_counts(1 << 20), other in any_counts(1 << 20)) {
        let together = price.cost(&one.plus(&other));
        let apart = price.cost(&one) + price.cost(&other);
        // Each is rounded by half a nano-USD at most.
        prop_assert!(together.abs_diff(apart) <= 1, "{together} {apart}");
        let (sum, each) = (exact(&price, &one.plus(&other)), exact(&price, &one) + exact(&price, &other));
        prop_assert_eq!(sum, each);
    }

    #[test]
    fn costs_are_the_exact_ones_rounded_half_up(price in flat(), used in any_counts(1 << 20)) {
        prop_assert_eq!(u128::from(price.cost(&used)), (exact(&price, &used) + 500) / 1000);
    }

    #[test]
    fn a_cached_token_costs_no_more_than_a_fresh_one(
        price in flat(), used in any_counts(1 << 20), cached in 0..1_000_000_u64
    ) {
        let rate = |unit| price.charged(unit, &Terms::default(), 0).map_or(0, |(_, rate)| rate);
        prop_assume!(rate(Unit::Cached) <= rate(Unit::Input));
        let fresh = used.get(Unit::Input) + cached;
        let read = used.get(Unit::Cached) + cached;
        prop_assert!(price.cost(&used.with(Unit::Cached, read)) <= price.cost(&used.with(Unit::Input, fresh)));
    }

    #[test]
    fn no_price_and_no_count_overflows(of in some_of(u64::MAX), used in any_counts(u64::MAX), service in "[a-z]?") {
        let tables = BTreeMap::from([(service.clone(), rates(&of))]);
        let step = Step { tokens: 1, rates: rates(&of), services: tables.clone() };
        let price = Price { rates: rates(&of), above: Some(vec![step]), services: tables.clone(), variants: tables };
        let terms = Terms { service: Some(&service), variant: None };
        prop_assert_eq!(price.cost_on(&terms, &used), price.cost(&used));
        let most = counts(&Unit::ALL.map(|(unit, _)| (unit, u64::MAX)));
        let dearest = Price { rates: rates(&Unit::ALL.map(|(unit, _)| (unit, u64::MAX))), ..Price::default() };
        prop_assert_eq!(dearest.cost(&most), u64::MAX);
    }
}
