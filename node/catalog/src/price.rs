//! What a model costs, as written in the data and in the document.

use crate::Unit;
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error as _, MapAccess, Visitor},
    ser::SerializeMap,
};
use std::{collections::BTreeMap, fmt};

/// The rate of each unit that is priced.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(transparent)]
pub struct Rates(BTreeMap<Unit, u64>);

impl Rates {
    /// The rate of a unit: pico-USD a token, nano-USD of anything else.
    pub fn get(&self, unit: Unit) -> Option<u64> {
        self.0.get(&unit).copied()
    }

    /// Sets the rate of a unit; the one before is given back.
    pub fn set(&mut self, unit: Unit, rate: u64) -> Option<u64> {
        self.0.insert(unit, rate)
    }

    /// All, in the order of the units.
    pub fn iter(&self) -> impl Iterator<Item = (Unit, u64)> {
        self.0.iter().map(|(unit, rate)| (*unit, *rate))
    }

    /// Whether nothing is priced.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn merge(&mut self, other: &Self) {
        self.0.extend(other.iter());
    }
}

impl FromIterator<(Unit, u64)> for Rates {
    fn from_iter<I: IntoIterator<Item = (Unit, u64)>>(rates: I) -> Self {
        Self(rates.into_iter().collect())
    }
}

/// What a model costs. Prices add up: of one thing no two are stated.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Price {
    /// The standard rates.
    pub rates: Rates,
    /// Other rates for requests with a long input. `None` is nothing said, which matters where it is merged.
    pub above: Option<Vec<Step>>,
    /// Other rates by service tier, in the vendor's word for it: `batch`, `flex`, `priority`.
    pub services: BTreeMap<String, Rates>,
    /// Other rates by what is made, such as `1080p` or `hd/1024x1024`.
    pub variants: BTreeMap<String, Rates>,
}

/// Rates for requests with more input tokens than some number. They hold for all of the request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Step {
    /// The rates hold for more input tokens than this.
    pub tokens: u64,
    /// The rates that differ.
    pub rates: Rates,
    /// The rates that differ by service tier.
    pub services: BTreeMap<String, Rates>,
}

impl Price {
    /// Whether nothing at all is priced.
    pub fn is_empty(&self) -> bool {
        let Self { rates, above, services, variants } = self;
        rates.is_empty() && above.is_none() && services.is_empty() && variants.is_empty()
    }

    /// Tells these prices from others: a hash (FNV-1a) of how they are written, and 0 where nothing is priced. The same on
    /// all nodes and for ever.
    pub fn version(&self) -> u64 {
        if self.is_empty() {
            return 0;
        }
        let text = serde_json::to_string(self).unwrap_or_default();
        text.bytes()
            .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
    }

    /// The steps, in no order.
    pub fn steps(&self) -> &[Step] {
        self.above.as_deref().unwrap_or_default()
    }

    /// Sets what the other names. Steps are set as a whole.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.rates.merge(&other.rates);
        if other.above.is_some() {
            self.above.clone_from(&other.above);
        }
        merge_named(&mut self.services, &other.services);
        merge_named(&mut self.variants, &other.variants);
    }
}

fn merge_named(into: &mut BTreeMap<String, Rates>, from: &BTreeMap<String, Rates>) {
    for (name, rates) in from {
        into.entry(name.clone()).or_default().merge(rates);
    }
}

/// A member of a price or a step: rates stand beside the others.
enum Member {
    Rate(Unit),
    Tokens,
    Above,
    Services,
    Variants,
}

impl<'de> Deserialize<'de> for Member {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name;
        impl Visitor<'_> for Name {
            type Value = Member;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a price")
            }

            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Member, E> {
                match name {
                    "tokens" => Ok(Member::Tokens),
                    "above" => Ok(Member::Above),
                    "services" => Ok(Member::Services),
                    "variants" => Ok(Member::Variants),
                    _ => Unit::named(name)
                        .map(Member::Rate)
                        .ok_or_else(|| E::custom(format_args!("there is no price `{name}`"))),
                }
            }
        }
        deserializer.deserialize_identifier(Name)
    }
}

fn once<T, E: serde::de::Error>(slot: &mut Option<T>, value: T, name: &'static str) -> Result<(), E> {
    slot.replace(value).map_or(Ok(()), |_| Err(E::duplicate_field(name)))
}

fn set_rate<'de, A: MapAccess<'de>>(rates: &mut Rates, unit: Unit, map: &mut A) -> Result<(), A::Error> {
    let before = rates.set(unit, map.next_value()?);
    before.map_or(Ok(()), |_| Err(A::Error::duplicate_field(unit.name())))
}

impl<'de> Deserialize<'de> for Price {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Price;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("prices by name")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Price, A::Error> {
                let (mut rates, mut above) = (Rates::default(), None);
                let (mut services, mut variants) = (None, None);
                while let Some(member) = map.next_key()? {
                    match member {
                        Member::Rate(unit) => set_rate(&mut rates, unit, &mut map)?,
                        Member::Above => once(&mut above, map.next_value()?, "above")?,
                        Member::Services => once(&mut services, map.next_value()?, "services")?,
                        Member::Variants => once(&mut variants, map.next_value()?, "variants")?,
                        Member::Tokens => {
                            return Err(A::Error::custom("`tokens` belongs to a step of `above`"));
                        }
                    }
                }
                let (services, variants) = (services.unwrap_or_default(), variants.unwrap_or_default());
                Ok(Price { rates, above, services, variants })
            }
        }
        deserializer.deserialize_map(Members)
    }
}

impl<'de> Deserialize<'de> for Step {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Step;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`tokens` and prices by name")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Step, A::Error> {
                let (mut rates, mut tokens, mut services) = (Rates::default(), None, None);
                while let Some(member) = map.next_key()? {
                    match member {
                        Member::Rate(unit) => set_rate(&mut rates, unit, &mut map)?,
                        Member::Tokens => once(&mut tokens, map.next_value()?, "tokens")?,
                        Member::Services => once(&mut services, map.next_value()?, "services")?,
                        Member::Above | Member::Variants => {
                            return Err(A::Error::custom("a step has neither `above` nor `variants`"));
                        }
                    }
                }
                let tokens = tokens.ok_or_else(|| A::Error::missing_field("tokens"))?;
                Ok(Step { tokens, rates, services: services.unwrap_or_default() })
            }
        }
        deserializer.deserialize_map(Members)
    }
}

impl Serialize for Price {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (unit, rate) in self.rates.iter() {
            map.serialize_entry(&unit, &rate)?;
        }
        if let Some(above) = &self.above {
            map.serialize_entry("above", above)?;
        }
        for (name, tables) in [("services", &self.services), ("variants", &self.variants)] {
            if !tables.is_empty() {
                map.serialize_entry(name, tables)?;
            }
        }
        map.end()
    }
}

impl Serialize for Step {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("tokens", &self.tokens)?;
        for (unit, rate) in self.rates.iter() {
            map.serialize_entry(&unit, &rate)?;
        }
        if !self.services.is_empty() {
            map.serialize_entry("services", &self.services)?;
        }
        map.end()
    }
}
