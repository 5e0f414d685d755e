//! Vendors of LiteLLM, and where their APIs begin.

/// A vendor that both know.
pub(super) struct Vendor {
    /// Before the slash of `litellm_params.model`.
    pub(super) theirs: &'static str,
    /// In our list.
    pub(super) ours: &'static str,
    /// Where LiteLLM looks for a key that is not written.
    pub(super) env: &'static str,
    pub(super) base: Base,
}

/// What `api_base` is to them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Base {
    /// What `base_url` is to us.
    Same,
    /// The host; we want the version behind it.
    Versioned,
    /// The host or the whole URL of Messages.
    Messages,
    /// Of another API than the one that we speak.
    Other,
}

const fn row(theirs: &'static str, ours: &'static str, env: &'static str, base: Base) -> Vendor {
    Vendor { theirs, ours, env, base }
}

const VENDORS: [Vendor; 32] = [
    row("anthropic", "anthropic", "ANTHROPIC_API_KEY", Base::Messages),
    row("cerebras", "cerebras", "CEREBRAS_API_KEY", Base::Same),
    row("cohere", "cohere", "COHERE_API_KEY", Base::Other),
    row("cohere_chat", "cohere", "COHERE_API_KEY", Base::Other),
    row("custom_openai", "openai", "OPENAI_API_KEY", Base::Same),
    row("dashscope", "dashscope", "DASHSCOPE_API_KEY", Base::Same),
    row("deepinfra", "deepinfra", "DEEPINFRA_API_KEY", Base::Same),
    row("deepseek", "deepseek", "DEEPSEEK_API_KEY", Base::Same),
    row("fireworks_ai", "fireworks", "FIREWORKS_API_KEY", Base::Same),
    row("gemini", "gemini", "GEMINI_API_KEY", Base::Other),
    row("github", "github", "GITHUB_API_KEY", Base::Same),
    row("groq", "groq", "GROQ_API_KEY", Base::Same),
    row("hosted_vllm", "vllm", "", Base::Same),
    row("huggingface", "huggingface", "HF_TOKEN", Base::Other),
    row("hyperbolic", "hyperbolic", "HYPERBOLIC_API_KEY", Base::Same),
    row("litellm_proxy", "openai", "LITELLM_PROXY_API_KEY", Base::Same),
    row("lm_studio", "lmstudio", "", Base::Same),
    row("minimax", "minimax", "MINIMAX_API_KEY", Base::Same),
    row("mistral", "mistral", "MISTRAL_API_KEY", Base::Same),
    row("moonshot", "moonshot", "MOONSHOT_API_KEY", Base::Same),
    row("nebius", "nebius", "NEBIUS_API_KEY", Base::Same),
    row("nvidia_nim", "nvidia", "NVIDIA_NIM_API_KEY", Base::Same),
    row("ollama", "ollama", "", Base::Versioned),
    row("ollama_chat", "ollama", "", Base::Versioned),
    row("openai", "openai", "OPENAI_API_KEY", Base::Same),
    row("openrouter", "openrouter", "OPENROUTER_API_KEY", Base::Same),
    row("perplexity", "perplexity", "PERPLEXITYAI_API_KEY", Base::Same),
    row("sambanova", "sambanova", "SAMBANOVA_API_KEY", Base::Same),
    row("together_ai", "together", "TOGETHER_API_KEY", Base::Same),
    row("vercel_ai_gateway", "vercel", "VERCEL_AI_GATEWAY_API_KEY", Base::Same),
    row("xai", "xai", "XAI_API_KEY", Base::Same),
    row("zai", "zai", "ZAI_API_KEY", Base::Same),
];

/// Beginnings of names that LiteLLM knows without a vendor in front.
const BARE: [(&str, &str); 10] = [
    ("gpt-", "openai"),
    ("chatgpt-", "openai"),
    ("ft:gpt-", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("text-embedding-", "openai"),
    ("davinci", "openai"),
    ("claude-", "anthropic"),
    ("command", "cohere"),
];

pub(super) fn find(theirs: &str) -> Option<&'static Vendor> {
    VENDORS.iter().find(|vendor| vendor.theirs == theirs)
}

/// The vendor of a name that has none in front.
pub(super) fn of_bare(model: &str) -> Option<&'static Vendor> {
    BARE.iter().find(|(start, _)| model.starts_with(start)).and_then(|(_, theirs)| find(theirs))
}

impl Vendor {
    /// Our base URL for theirs, or why there is none.
    pub(super) fn base_url(&self, theirs: &str) -> Result<String, &'static str> {
        let base = theirs.trim().trim_end_matches('/');
        let versioned = |base: &str| {
            if base.ends_with("/v1") { base.to_owned() } else { format!("{base}/v1") }
        };
        match self.base {
            Base::Same => Ok(base.trim_end_matches("/chat/completions").to_owned()),
            Base::Versioned => Ok(versioned(base)),
            Base::Messages => Ok(versioned(base.trim_end_matches("/messages"))),
            Base::Other => {
                Err("is for an API that is not spoken here; write `base_url` and `dialects` of a provider")
            }
        }
    }
}
