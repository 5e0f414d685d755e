//! JSON whose objects have each member once: of two the last one would win, and nobody would hear of the other.

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Number, Value};
use std::fmt;

/// A value of which no member is there twice.
pub(super) struct Strict(pub(super) Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Members).map(Self)
    }
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        let number = Number::from_f64(value).ok_or_else(|| E::custom("a number is too large"))?;
        Ok(Value::Number(number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            if map.contains_key(&name) {
                return Err(A::Error::custom(format!("`{name}` is there twice; remove one")));
            }
            let Strict(value) = members.next_value()?;
            map.insert(name, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_as_serde_reads_them_but_for_members_that_are_there_twice() {
        for text in
            [r#"{"a":[1,-2,3.5,"x",null,true,{"b":{}}],"ü":"\u00fc\ud83d\ude00"}"#, "1e3", "\"\"", "[]"]
        {
            let Strict(value) = serde_json::from_str(text).unwrap();
            assert_eq!(value, serde_json::from_str::<Value>(text).unwrap());
        }
        for text in [r#"{"a":1,"a":2}"#, r#"[{"b":{"a":1,"c":2,"a":1}}]"#] {
            let error = serde_json::from_str::<Strict>(text).err().unwrap().to_string();
            assert!(error.starts_with("`a` is there twice"), "{error}");
        }
    }
}
