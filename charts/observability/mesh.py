"""The nodes as one: consensus, gossip, counters, copies of the ledger."""

from .panels import RATE, Board, nodes, of, per_second, quantile


def board():
    made = Board("mesh", "Mesh", "The nodes of a cluster: who leads, who lags, what they tell each other.", nodes())
    now(made)
    consensus(made)
    gossip(made)
    counters(made)
    copies(made)
    return made


def now(made):
    made.row("Now")
    one = [(None, "red"), (1, "green"), (2, "red")]
    made.stat("Leaders", "Nodes that lead: one in each cluster.", f"sum({of('trestle_raft_leads')})", graph=False, thresholds=one)
    made.stat("Leader", "The node that leads.", f"{of('trestle_raft_leads')} == 1", graph=False, text_mode="name", legend="{{instance}}")
    made.stat("Members", "Of the cluster, as the node says that knows most.", f"max(sum by (instance) ({of('trestle_cluster_members')}))", graph=False)
    made.stat("Voters", "Members that vote; a majority of them must be there for changes.",
              f"max({of('trestle_cluster_members', VOTES)})", graph=False)
    made.stat("Heard of", "Nodes that the node hears of that hears least.", f"min({of('trestle_gossip_nodes', LIVE)})", graph=False)
    made.stat("Frozen", "Nodes on which limits are spent by shares, as a member is out of reach.", f"sum({of('trestle_exchange_frozen')})",
              graph=False, thresholds=[(None, "green"), (1, "orange")])
    made.stat("Revision", "The newest document that any node serves.", f"max({of('trestle_document_revision')})", graph=False, unit="none")
    made.stat("Cluster version", "What all members can: it is raised when an upgrade is finalized.", f"min({of('trestle_cluster_version')})",
              graph=False, unit="none")


VOTES = 'votes="true"'
LIVE = 'live="true"'


def each(metric, **more):
    return (of(metric, **more), "{{instance}}")


def consensus(made):
    made.row("Consensus")
    made.series("Who leads", "1 on the node that leads.", each("trestle_raft_leads"), max=1)
    made.series("Knows a leader", "At 0 a node takes no changes.", each("trestle_raft_has_leader"), max=1)
    made.series("Elections", "Counts elections; one that grows steadily means that nodes lose sight of each other.", each("trestle_raft_term"), unit="none")
    made.series("Entries behind", "In effect here and not yet: entries on a majority; and on this disk: not known to be on a majority.",
                (of("trestle_raft_apply_lag"), "to apply, {{instance}}"), (of("trestle_raft_commit_lag"), "to commit, {{instance}}"),
                thresholds=[(None, "green"), (100, "red")])
    made.series("Entries applied", "Entries of the log that are in effect, each second.",
                (f"rate({of('trestle_raft_applied_index')}[{RATE}])", "{{instance}}"), unit="ops")
    made.series("To the disk, p99", "Time in which an entry of the log reaches the disk.",
                (quantile(0.99, "trestle_raft_fsync_seconds", "instance"), "{{instance}}"), unit="s", thresholds=[(None, "green"), (0.5, "red")])
    made.series("Since a majority followed", "On the leader; 0 on others.", each("trestle_raft_quorum_ack_seconds"), unit="s",
                thresholds=[(None, "green"), (10, "red")])
    made.series("Revision by node", "Number of the document that requests see.", each("trestle_document_revision"), unit="none", min=None)
    made.series("Revisions behind", "The newest that gossip knows of without the node's own.", each("trestle_document_revision_lag"), unit="none")


def gossip(made):
    made.row("Gossip")
    made.series("Nodes heard of", "By each node, itself among them.", (of("trestle_gossip_nodes", LIVE), "{{instance}}"))
    made.series("Nodes not heard of", "By each node.", (of("trestle_gossip_nodes", 'live="false"'), "{{instance}}"))
    made.series("Clock", "How far the clock of the peer that differs most is from the node's.", each("trestle_clock_offset_seconds"), unit="s",
                min=None, thresholds=[(None, "red"), (-0.5, "green"), (0.5, "red")])
    made.series("Datagrams", "Sent and received.", (per_second("trestle_gossip_datagrams_total", "what", 'what=~"sent|received"'), "{{what}}"), unit="pps")
    made.series("Datagrams that were refused or not sent", "`sealed`: with another secret; `time`: a clock is wrong; `replayed`; `garbage`.",
                (per_second("trestle_gossip_datagrams_total", "instance, what", 'what!~"sent|received"'), "{{instance}}: {{what}}"), unit="pps")
    made.series("Bytes of gossip", "Of datagrams, by direction.", (per_second("trestle_gossip_bytes_total", "direction"), "{{direction}}"), unit="Bps")
    made.series("A round, p99", "From a peer being asked to its answer.", (quantile(0.99, "trestle_gossip_round_seconds", "instance"), "{{instance}}"), unit="s")


def counters(made):
    made.row("Counters of limits")
    made.series("Lag", "For how long the peer that lags most has not had all that was counted on a node.", each("trestle_exchange_lag_seconds"),
                unit="s", thresholds=[(None, "green"), (5, "red")])
    made.series("Peers", "That counters are exchanged with.", each("trestle_exchange_peers"))
    made.series("Frozen by node", "1 while a member is out of reach and limits are spent by shares.", each("trestle_exchange_frozen"), max=1)
    made.series("Bytes of counters", "By direction.", (per_second("trestle_exchange_bytes_total", "direction"), "{{direction}}"), unit="Bps")
    made.series("Cells", "Of counters, by direction.", (per_second("trestle_exchange_cells_total", "direction"), "{{direction}}"), unit="ops")
    made.series("Comparisons", "Of counters with a peer, by result.", (per_second("trestle_exchange_repairs_total", "result"), "{{result}}"), unit="ops")


def copies(made):
    made.row("Copies of the ledger")
    made.series("Without a copy: time", "Since another node had all of the ledger: what a lost disk would take.",
                each("trestle_ledger_copy_lag_seconds"), unit="s", thresholds=[(None, "green"), (60, "red")])
    made.series("Without a copy: bytes", "On this disk and on no other.", each("trestle_ledger_copy_lag_bytes"), unit="bytes")
    made.series("Copies that a node keeps", "Of the ledgers of others.", each("trestle_ledger_copies_bytes"), unit="bytes")
