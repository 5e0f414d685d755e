//! What is counted and priced.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// What is counted and priced. A price of tokens is in pico-USD a token, any other (`per_...`) in nano-USD each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Unit {
    /// Input that is none of the others.
    Input,
    /// Output that is none of the others.
    Output,
    /// Input read from a cache.
    Cached,
    /// Input written to a cache, for five minutes or as long as the vendor keeps it by default.
    CacheWrite,
    /// Input written to a cache for an hour.
    CacheWrite1h,
    /// Input written to a cache for longer, up to a day.
    CacheWrite12h,
    /// Output that is reasoning.
    Reasoning,
    /// Sound in the input.
    AudioInput,
    /// Sound in the input, read from a cache.
    AudioCached,
    /// Sound in the output.
    AudioOutput,
    /// Pictures in the input.
    ImageInput,
    /// Pictures in the input, read from a cache.
    ImageCached,
    /// Pictures in the output.
    ImageOutput,
    /// Films in the input.
    VideoInput,
    /// Films in the output.
    VideoOutput,
    /// Calls.
    PerRequest,
    /// Queries of a reranker or a search.
    PerQuery,
    /// Searches of the web by the vendor's tool.
    PerWebSearch,
    /// Pictures in the input.
    PerImageInput,
    /// Pictures that are made.
    PerImage,
    /// Seconds of sound in the input.
    PerAudioSecondInput,
    /// Seconds of sound that is made.
    PerAudioSecond,
    /// Seconds of film in the input.
    PerVideoSecondInput,
    /// Seconds of film that is made.
    PerVideoSecond,
    /// Characters that are spoken.
    PerCharacter,
    /// Pages that are read.
    PerPage,
    /// Pages that are read and annotated.
    PerPageAnnotated,
}

impl Unit {
    /// How many there are.
    pub(crate) const COUNT: usize = Self::ALL.len();

    /// All, in the order of the enum, with their names in the data.
    pub const ALL: [(Self, &'static str); 27] = [
        (Self::Input, "input"),
        (Self::Output, "output"),
        (Self::Cached, "cached"),
        (Self::CacheWrite, "cache_write"),
        (Self::CacheWrite1h, "cache_write_1h"),
        (Self::CacheWrite12h, "cache_write_12h"),
        (Self::Reasoning, "reasoning"),
        (Self::AudioInput, "audio_input"),
        (Self::AudioCached, "audio_cached"),
        (Self::AudioOutput, "audio_output"),
        (Self::ImageInput, "image_input"),
        (Self::ImageCached, "image_cached"),
        (Self::ImageOutput, "image_output"),
        (Self::VideoInput, "video_input"),
        (Self::VideoOutput, "video_output"),
        (Self::PerRequest, "per_request"),
        (Self::PerQuery, "per_query"),
        (Self::PerWebSearch, "per_web_search"),
        (Self::PerImageInput, "per_image_input"),
        (Self::PerImage, "per_image"),
        (Self::PerAudioSecondInput, "per_audio_second_input"),
        (Self::PerAudioSecond, "per_audio_second"),
        (Self::PerVideoSecondInput, "per_video_second_input"),
        (Self::PerVideoSecond, "per_video_second"),
        (Self::PerCharacter, "per_character"),
        (Self::PerPage, "per_page"),
        (Self::PerPageAnnotated, "per_page_annotated"),
    ];

    /// Its name in the data.
    pub fn name(self) -> &'static str {
        Self::ALL.get(self as usize).map_or("", |(_, name)| name)
    }

    /// The unit of such a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(unit, _)| *unit)
    }

    /// Whether it is tokens.
    pub fn is_tokens(self) -> bool {
        self <= Self::VideoOutput
    }

    /// Whether it is tokens of the input: these are added up to see which step of a price holds.
    pub fn is_input_tokens(self) -> bool {
        self.is_tokens()
            && !matches!(
                self,
                Self::Output | Self::Reasoning | Self::AudioOutput | Self::ImageOutput | Self::VideoOutput
            )
    }

    /// What it is charged as where it has no rate of its own: without a discount that nobody stated, and without a
    /// modality that is not told apart. Things have no such unit: without a rate they cost nothing.
    pub(crate) fn otherwise(self, has_rate: impl Fn(Self) -> bool) -> Option<Self> {
        match self {
            Self::Cached | Self::CacheWrite | Self::AudioInput | Self::ImageInput | Self::VideoInput => {
                Some(Self::Input)
            }
            Self::CacheWrite1h => Some(Self::CacheWrite),
            Self::CacheWrite12h => Some(Self::CacheWrite1h),
            Self::AudioCached if has_rate(Self::AudioInput) => Some(Self::AudioInput),
            Self::ImageCached if has_rate(Self::ImageInput) => Some(Self::ImageInput),
            Self::AudioCached | Self::ImageCached => Some(Self::Cached),
            Self::Reasoning | Self::AudioOutput | Self::ImageOutput | Self::VideoOutput => Some(Self::Output),
            _ => None,
        }
    }
}

impl Serialize for Unit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Unit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(UnitName)
    }
}

struct UnitName;

impl serde::de::Visitor<'_> for UnitName {
    type Value = Unit;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a price")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Unit, E> {
        Unit::named(name).ok_or_else(|| E::custom(format_args!("there is no price `{name}`")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_where_they_stand() {
        for (position, (unit, name)) in Unit::ALL.into_iter().enumerate() {
            assert_eq!(unit as usize, position, "{name}");
            assert_eq!((unit.name(), Unit::named(name)), (name, Some(unit)));
            assert_eq!(unit.is_tokens(), !name.starts_with("per_"), "{name}");
        }
        assert_eq!(Unit::named("inputs"), None);
    }

    #[test]
    fn units_fall_back_to_units_of_the_same_side() {
        for (unit, name) in Unit::ALL {
            for has in [false, true] {
                let mut steps = 0;
                let mut at = unit;
                while let Some(next) = at.otherwise(|_| has) {
                    assert_eq!(next.is_input_tokens(), unit.is_input_tokens(), "{name}");
                    (at, steps) = (next, steps + 1);
                    assert!(steps < 5, "{name}");
                }
            }
        }
    }
}
