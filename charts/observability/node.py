"""One process: what it uses, its disk, its connections, its documents and certificates."""

from .panels import RATE, Board, nodes, of, per_second


def board():
    made = Board("node", "Node", "The process: processors, memory, disk, connections, ledger, document and certificates.", nodes())
    now(made)
    process(made)
    connections(made)
    disk(made)
    document(made)
    telemetry(made)
    return made


def each(metric, legend="{{instance}}"):
    return (of(metric), legend)


def grown(metric, by):
    return f"sum by ({by}) (increase({of(metric)}[{RATE}]))"


def now(made):
    good = [(None, "red"), (1, "green")]
    made.row("Now")
    made.stat("Nodes", "Nodes that answer Prometheus.", f"count({of('trestle_build_info')})", graph=False)
    made.stat("Version", "Of the program.", f"count by (version) ({of('trestle_build_info')})", graph=False, text_mode="name", legend="{{version}}")
    made.stat("Since the last start", "Of the node that was started last.", f"time() - max({of('process_start_time_seconds')})", unit="s", graph=False)
    made.stat("Stores", "1 while the store of the document works on all nodes.", f"min({of('trestle_store_up')})", graph=False, thresholds=good)
    made.stat("Documents broken", "Nodes that serve an earlier document than they have.", f"sum({of('trestle_document_broken')})", graph=False,
              thresholds=[(None, "green"), (1, "red")])
    made.stat("Fullest ledger", "How full the fullest is.", f"max({of('trestle_ledger_bytes')} / {of('trestle_ledger_max_bytes')})", unit="percentunit",
              max=1, graph=False, thresholds=[(None, "green"), (0.85, "orange"), (0.95, "red")])
    made.stat("Fullest disk", "What is free on the fullest.", f"min({of('trestle_data_free_bytes')} / {of('trestle_data_bytes')})", unit="percentunit",
              max=1, graph=False, thresholds=[(None, "red"), (0.05, "orange"), (0.15, "green")])
    made.stat("Certificate", "Until the first one ends.", f"min({of('trestle_certificate_expires_seconds')})", unit="s", graph=False,
              noValue="none", thresholds=[(None, "red"), (2 * 86400, "orange"), (14 * 86400, "green")])


def process(made):
    made.row("Process")
    made.series("CPU", "Cores in use.", (per_second("process_cpu_seconds_total", "instance"), "{{instance}}"))
    made.series("Memory", "Resident memory.", each("process_resident_memory_bytes"), unit="bytes")
    made.series("File descriptors", "That are open, of those that may be.",
                (f"{of('process_open_fds')} / {of('process_max_fds')}", "{{instance}}"), unit="percentunit", max=1,
                thresholds=[(None, "green"), (0.8, "red")])
    made.series("In flight by thread", "Requests that run now on a data thread; they should be alike.",
                each("trestle_thread_in_flight", "{{instance}}, thread {{thread}}"))
    made.series("Buffered bodies", "Bytes of bodies held now.", each("trestle_buffered_bytes"), unit="bytes")
    made.series("Lines of the log that were lost", "As the writer did not keep up.",
                (grown("trestle_records_dropped_total", "instance"), "{{instance}}"), thresholds=[(None, "green"), (1, "red")])


def connections(made):
    made.row("Connections of clients")
    made.series("Open", "Now.", each("trestle_connections"))
    made.series("Accepted", "New ones.", (per_second("trestle_connections_accepted_total", "instance"), "{{instance}}"), unit="cps")
    made.series("Closed by the node, refused, not accepted", "`connections_max` were open; or accept failed, such as for want of file descriptors.",
                (per_second("trestle_connections_closed_total", "reason"), "closed: {{reason}}"),
                (per_second("trestle_connections_refused_total"), "refused"), (per_second("trestle_accept_errors_total"), "not accepted"), unit="cps")


def disk(made):
    made.row("Disk and ledger")
    made.series("Free", "On the disk of the data folder.", each("trestle_data_free_bytes"), unit="bytes")
    made.series("Ledger", "Its files together, as a part of what they may come to.",
                (f"{of('trestle_ledger_bytes')} / {of('trestle_ledger_max_bytes')}", "{{instance}}"), unit="percentunit",
                thresholds=[(None, "green"), (0.85, "orange"), (0.95, "red")])
    made.series("Ledger: bytes", "Its files together, and copies of those of other nodes.", each("trestle_ledger_bytes"),
                each("trestle_ledger_copies_bytes", "copies on {{instance}}"), unit="bytes")
    made.series("Not on the disk: time", "Since all of the ledger was.", each("trestle_ledger_lag_seconds"), unit="s",
                thresholds=[(None, "green"), (5, "red")])
    made.series("Not on the disk: bytes", "What a loss of power would take.", each("trestle_ledger_unsynced_bytes"), unit="bytes")
    made.series("Holds that ended early", "Requests whose hold on limits ended before they did.",
                (grown("trestle_leases_expired_total", "instance"), "{{instance}}"))


def document(made):
    made.row("Document, secrets, certificates")
    made.series("Revision", "Number of the document that requests see.", each("trestle_document_revision"), unit="none", min=None)
    made.series("Store and document", "`store` 0: takes no changes; `broken` 1: serves an earlier document.",
                each("trestle_store_up", "store, {{instance}}"), each("trestle_document_broken", "broken, {{instance}}"), max=1)
    made.series("Loads", "Of documents, secrets and certificates after the start.",
                (grown("trestle_reloads_total", "what, result"), "{{what}}: {{result}}"))
    made.series("Certificates", "Time until they end.", each("trestle_certificate_expires_seconds", "{{certificate}}, {{instance}}"), unit="s",
                thresholds=[(None, "red"), (14 * 86400, "green")])


def telemetry(made):
    made.row("Telemetry: only where the node setting otlp.endpoint names a collector")
    made.series("Messages for the collector", "`partial`: it refused some of one; `failed`: given up after several tries.",
                (grown("trestle_otlp_exports_total", "signal, result"), "{{signal}}: {{result}}"))
    made.series("Spans that the collector took", "By node.", (per_second("trestle_spans_sent_total", "instance"), "{{instance}}"), unit="ops")
    made.series("Spans that were lost", "`queue_full`; `not_taken`: the collector is away; `rejected` by it.",
                (per_second("trestle_spans_dropped_total", "instance, reason"), "{{instance}}: {{reason}}"), unit="ops")
