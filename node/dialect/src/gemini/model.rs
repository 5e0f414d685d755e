//! What the name of a model tells. Models of the third generation demand signatures of tool calls, take pictures in
//! tool results and are told a level of thinking; older ones are told a budget, or do not think.

/// A model, as far as requests depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Model {
    /// Generation: major and minor number. The newest one for names without a number (`gemini-flash-latest`), none
    /// for models that are not Gemini.
    version: Option<(u32, u32)>,
    /// `pro`.
    is_pro: bool,
    /// `flash-lite`.
    is_lite: bool,
    /// Draws pictures.
    is_image: bool,
}

/// How a model is told to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Thinks {
    /// It refuses the whole member.
    Never,
    /// Tokens: the fewest (0 where thinking can be switched off) and the most.
    Budget { least: u64, most: u64 },
    /// A level: the lowest that it has.
    Level { lowest: &'static str },
}

impl Model {
    /// From its name, with or without `models/` or the path of a publisher before it.
    pub(super) fn of(name: &str) -> Self {
        let name = name.rsplit('/').next().unwrap_or(name);
        let version = name.strip_prefix("gemini-").map(|rest| version(rest).unwrap_or((u32::MAX, 0)));
        Self {
            version,
            is_pro: name.contains("pro"),
            is_lite: name.contains("lite"),
            is_image: name.contains("image"),
        }
    }

    /// Whether it is of the third generation or later.
    pub(super) fn is_third(self) -> bool {
        self.version.is_some_and(|(major, _)| major >= 3)
    }

    /// How it is told to think. A model that we do not know is told a budget: both kinds take one.
    pub(super) fn thinks(self) -> Thinks {
        match self.version {
            Some((..=1, _) | (2, ..=4)) => Thinks::Never,
            Some((2, _)) if self.is_image => Thinks::Never,
            Some((2, _)) if self.is_pro => Thinks::Budget { least: 128, most: 32_768 },
            Some((2, _)) if self.is_lite => Thinks::Budget { least: 512, most: 24_576 },
            Some((2, _)) => Thinks::Budget { least: 0, most: 24_576 },
            Some(_) if self.is_pro => Thinks::Level { lowest: "LOW" },
            Some(_) => Thinks::Level { lowest: "MINIMAL" },
            None => Thinks::Budget { least: 0, most: u64::MAX },
        }
    }

    /// Whether it thinks without being told to.
    pub(super) fn thinks_by_itself(self) -> bool {
        !(self.version.is_some_and(|(major, _)| major == 2) && self.is_lite)
    }
}

/// `2.5-flash`: 2 and 5; `3-pro`: 3 and 0.
fn version(rest: &str) -> Option<(u32, u32)> {
    let number = rest.split('-').next()?;
    match number.split_once('.') {
        Some((major, minor)) => Some((major.parse().ok()?, minor.parse().ok()?)),
        None => Some((number.parse().ok()?, 0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_generation() {
        let budget = |least, most| Thinks::Budget { least, most };
        let level = |lowest| Thinks::Level { lowest };
        for (name, third, thinks) in [
            ("gemini-1.5-pro-002", false, Thinks::Never),
            ("gemini-2.0-flash", false, Thinks::Never),
            ("gemini-2.5-flash-image", false, Thinks::Never),
            ("models/gemini-2.5-pro", false, budget(128, 32_768)),
            ("gemini-2.5-flash", false, budget(0, 24_576)),
            ("gemini-2.5-flash-lite", false, budget(512, 24_576)),
            ("gemini-3-pro-preview", true, level("LOW")),
            ("publishers/google/models/gemini-3.1-flash", true, level("MINIMAL")),
            ("gemini-flash-latest", true, level("MINIMAL")),
            ("gemini-12-pro", true, level("LOW")),
            ("tuned-model", false, budget(0, u64::MAX)),
            ("", false, budget(0, u64::MAX)),
        ] {
            let model = Model::of(name);
            assert_eq!((model.is_third(), model.thinks()), (third, thinks), "{name}");
        }
    }
}
