//! What an answer cost in tokens and in things, in one type that says what `input` includes.

/// Tokens by kind, and things that are charged apart from tokens. `input` counts *all* input tokens: uncached, read from a
/// cache and written to one; decoders of vendors that report them apart (Anthropic) add them up, encoders take them apart
/// again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// All input tokens, with the three below.
    pub input: u64,
    /// Of them, read from a cache.
    pub cache_read: u64,
    /// Of them, written to a cache (all lifetimes).
    pub cache_write: u64,
    /// Of the written ones, those with a lifetime of an hour.
    pub cache_write_1h: u64,
    /// All output tokens, with reasoning.
    pub output: u64,
    /// Of them, reasoning.
    pub reasoning: u64,
    /// Of the input, audio.
    pub audio_input: u64,
    /// Of the output, audio.
    pub audio_output: u64,
    /// Of the input, pictures.
    pub image_input: u64,
    /// Of the output, pictures.
    pub image_output: u64,
    /// Pictures that were made; no tokens.
    pub images: u64,
    /// Sound that was heard, in milliseconds, where the vendor measures it so.
    pub audio_ms: u64,
    /// Characters that were spoken.
    pub characters: u64,
}

impl Usage {
    /// Input tokens that were neither read from nor written to a cache.
    pub const fn input_uncached(&self) -> u64 {
        self.input.saturating_sub(self.cache_read).saturating_sub(self.cache_write)
    }

    /// Both reports of one answer. Vendors count up and may repeat only a part of the counts (Anthropic's
    /// `message_delta` may hold the output alone), so the larger one of each count is right.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        Self {
            input: self.input.max(other.input),
            cache_read: self.cache_read.max(other.cache_read),
            cache_write: self.cache_write.max(other.cache_write),
            cache_write_1h: self.cache_write_1h.max(other.cache_write_1h),
            output: self.output.max(other.output),
            reasoning: self.reasoning.max(other.reasoning),
            audio_input: self.audio_input.max(other.audio_input),
            audio_output: self.audio_output.max(other.audio_output),
            image_input: self.image_input.max(other.image_input),
            image_output: self.image_output.max(other.image_output),
            // Each event tells of a picture of its own.
            images: self.images.saturating_add(other.images),
            audio_ms: self.audio_ms.max(other.audio_ms),
            characters: self.characters.max(other.characters),
        }
    }

    /// What two answers cost together.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write: self.cache_write.saturating_add(other.cache_write),
            cache_write_1h: self.cache_write_1h.saturating_add(other.cache_write_1h),
            output: self.output.saturating_add(other.output),
            reasoning: self.reasoning.saturating_add(other.reasoning),
            audio_input: self.audio_input.saturating_add(other.audio_input),
            audio_output: self.audio_output.saturating_add(other.audio_output),
            image_input: self.image_input.saturating_add(other.image_input),
            image_output: self.image_output.saturating_add(other.image_output),
            images: self.images.saturating_add(other.images),
            audio_ms: self.audio_ms.saturating_add(other.audio_ms),
            characters: self.characters.saturating_add(other.characters),
        }
    }

    /// Input and output.
    pub const fn total(&self) -> u64 {
        self.input.saturating_add(self.output)
    }
}
