"""What is promised to callers, and what counts against it. Change the figures here and run `charts/generate.py`."""

# Of requests that a caller did not spoil, so many do not fail.
AVAILABILITY = 0.995
# Of requests that reached a provider, so many are over within these seconds; a bound of the histogram's buckets.
LATENCY = 0.95
LATENCY_SECONDS = 30
# Of streams, so many have their first content within these seconds; likewise.
FIRST_TOKEN = 0.95
FIRST_TOKEN_SECONDS = 5

# How fast the budget of 30 days is spent, the windows in which that must be seen, and how bad that is: the figures of
# chapter 5 of Google's Site Reliability Workbook. At 14.4 an hour takes 2 % of the budget, at 6 six hours take 5 %, at 1 three
# days take 10 %. The short window ends the alert soon after the trouble.
BURN_RATES = [
    ("Fast", 14.4, "1h", "5m", "2m", "critical"),
    ("High", 6, "6h", "30m", "15m", "critical"),
    ("Slow", 1, "3d", "6h", "1h", "warning"),
]
WINDOWS = ["5m", "30m", "1h", "6h", "3d"]
# Below so many bad requests in the long window nobody is woken: with little traffic one failure is a large part of it.
BAD_MIN = 10

# Kinds of refusals and causes of faults (docs/errors.md) that are the caller's, or what an operator has limited on purpose. All others,
# also ones that come later, count against what is promised.
CALLERS_CAUSES = [
    "invalid_request",
    "unauthenticated",
    "budget_exceeded",
    "forbidden",
    "not_found",
    "client_timeout",
    "too_large",
    "rate_limited",
    "context_too_long",
    "content_policy",
    "unsupported_parameter",
    "model_not_found",
    "media_unavailable",
    "unsupported",
    "limit_reached",
]
CALLERS = "|".join(CALLERS_CAUSES)
# Sessions are as long as those who hold them want.
SESSIONS = "realtime"
