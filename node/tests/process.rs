//! The binary as its users see it: each test starts `trestle`, talks to it over sockets and signals, reads its output.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a panic is a failed test

#[path = "process/support.rs"]
mod support;

#[path = "process/operator.rs"]
mod operator;

#[path = "process/admin.rs"]
mod admin;
#[path = "process/cli/ask.rs"]
mod cli_ask;
#[path = "process/cli/audit.rs"]
mod cli_audit;
#[path = "process/cli/document.rs"]
mod cli_document;
#[path = "process/cli/dry_run.rs"]
mod cli_dry_run;
#[path = "process/cli/edit.rs"]
mod cli_edit;
#[path = "process/cli/health.rs"]
mod cli_health;
#[path = "process/cli/import.rs"]
mod cli_import;
#[path = "process/cli/keys.rs"]
mod cli_keys;
#[path = "process/cli/ledger.rs"]
mod cli_ledger;
#[path = "process/cli/page.rs"]
mod cli_page;
#[path = "process/cli/revisions.rs"]
mod cli_revisions;
#[path = "process/cli/shell.rs"]
mod cli_shell;
#[path = "process/cli/tokens.rs"]
mod cli_tokens;
#[path = "process/cli/which_node.rs"]
mod cli_which_node;
#[path = "process/cluster/nodes.rs"]
mod cluster_nodes;
#[path = "process/cluster/operated.rs"]
mod cluster_operated;
#[path = "process/cluster/queries.rs"]
mod cluster_queries;
#[path = "process/commands.rs"]
mod commands;
#[path = "process/connections.rs"]
mod connections;
#[path = "process/dev.rs"]
mod dev;
#[path = "process/documents.rs"]
mod documents;
#[path = "process/drain.rs"]
mod drain;
#[path = "process/entities.rs"]
mod entities;
#[path = "process/history.rs"]
mod history;
#[path = "process/http1.rs"]
mod http1;
#[path = "process/http2.rs"]
mod http2;
#[path = "process/ledger.rs"]
mod ledger;
#[path = "process/nodes.rs"]
mod nodes;
#[path = "process/passthrough.rs"]
mod passthrough;
#[path = "process/realtime.rs"]
mod realtime;
#[path = "process/reload.rs"]
mod reload;
#[path = "process/routes.rs"]
mod routes;
#[path = "process/secrets.rs"]
mod secrets;
#[path = "process/store.rs"]
mod store;
#[path = "process/tls.rs"]
mod tls;
