"""What dashboards are made of: variables, rows and panels in Grafana's own form."""

import json

# Of Grafana 12; older ones show it, too.
SCHEMA_VERSION = 41
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
WIDTH = 24
HEIGHT = 8
# Label filters of all queries, and of those of recorded series, which are of whole clusters.
OF_NODES = 'job=~"$job",namespace=~"$namespace",instance=~"$instance"'
OF_CLUSTERS = 'job=~"$job",namespace=~"$namespace"'
TARGETS = 'endpoint=~"$endpoint",provider=~"$provider",model=~"$model"'
RATE = "$__rate_interval"
BOARDS = ["overview", "providers", "spend", "mesh", "node"]


def of(metric, more=""):
    """The series of a metric on the chosen nodes."""
    return f"{metric}{{{OF_NODES}{',' if more else ''}{more}}}"


def rate(metric, more=""):
    return f"rate({of(metric, more)}[{RATE}])"


def per_second(metric, by="", more=""):
    """How much a counter grows each second, summed by labels."""
    return f"sum{f' by ({by})' if by else ''} ({rate(metric, more)})"


def quantile(q, metric, by="", more=""):
    labels = f"le, {by}" if by else "le"
    return f"histogram_quantile({q}, sum by ({labels}) ({rate(metric + '_bucket', more)}))"


def quantiles(metric, more=""):
    return [(quantile(q, metric, more=more), f"p{int(q * 100)}") for q in (0.5, 0.95, 0.99)]


class Board:
    """A dashboard, filled from left to right and row by row."""

    def __init__(self, name, title, description, variables):
        self.name, self.title, self.description = name, f"Trestle / {title}", description
        self.variables = variables
        self.panels, self.x, self.y, self.high = [], 0, 0, 0

    def row(self, title):
        self.new_line()
        self.panels.append({"type": "row", "title": title, "collapsed": False, "panels": [], "gridPos": place(0, self.y, WIDTH, 1)})
        self.y += 1

    def new_line(self):
        self.x, self.y, self.high = 0, self.y + self.high, 0

    def add(self, panel, width=8, height=HEIGHT):
        if self.x + width > WIDTH:
            self.new_line()
        self.panels.append(panel | {"gridPos": place(self.x, self.y, width, height)})
        self.x, self.high = self.x + width, max(self.high, height)

    def stat(self, title, description, expr, **look):
        self.add(stat(title, description, expr, **look), width=look.get("width", 3), height=4)

    def series(self, title, description, *queries, **look):
        self.add(series(title, description, queries, look), width=look.get("width", 8))

    def text(self):
        panels = [{"id": number} | panel for number, panel in enumerate(self.panels, 1)]
        board = {
            "uid": f"trestle-{self.name}",
            "title": self.title,
            "description": self.description,
            "tags": ["trestle"],
            "schemaVersion": SCHEMA_VERSION,
            "version": 1,
            "editable": True,
            "graphTooltip": 1,
            "refresh": "30s",
            "time": {"from": "now-1h", "to": "now"},
            "timezone": "",
            "links": [link(name) for name in BOARDS if name != self.name],
            "templating": {"list": [datasource()] + self.variables},
            "annotations": {"list": [starts()]},
            "panels": panels,
        }
        return json.dumps(board, indent=2) + "\n"


def place(x, y, width, height):
    return {"x": x, "y": y, "w": width, "h": height}


def link(name):
    return {
        "type": "link",
        "title": name.capitalize(),
        "url": f"/d/trestle-{name}",
        "icon": "dashboard",
        "includeVars": True,
        "keepTime": True,
        "targetBlank": False,
        "asDropdown": False,
        "tags": [],
        "tooltip": "",
    }


def starts():
    """A mark wherever a node was started."""
    return {
        "name": "Starts",
        "datasource": DATASOURCE,
        "enable": True,
        "iconColor": "blue",
        "expr": f"{of('process_start_time_seconds')} * 1000",
        "useValueForTime": True,
        "titleFormat": "{{instance}} was started",
    }


def datasource():
    return {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus", "current": {}, "hide": 0, "refresh": 1}


def variable(name, metric, label=None, label_text=None):
    """One of which several can be chosen; `All` also fits series that do not have the label."""
    query = f"label_values({metric}, {label or name})"
    return {
        "name": name,
        "label": label_text or name.replace("_", " ").capitalize(),
        "type": "query",
        "datasource": DATASOURCE,
        "query": {"query": query, "refId": "variable"},
        "definition": query,
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": ["All"], "value": ["$__all"]},
        "hide": 0,
    }


def nodes():
    """Which nodes: on all dashboards."""
    build = "trestle_build_info"
    return [
        variable("namespace", build),
        variable("job", f'{build}{{namespace=~"$namespace"}}'),
        variable("instance", f"{build}{{{OF_CLUSTERS}}}"),
    ]


def targets():
    """Which endpoints, providers and models."""
    requests = of("trestle_requests_total")
    return [variable("endpoint", requests), variable("provider", requests), variable("model", requests)]


def steps(thresholds):
    """`[(None, "green"), (0.1, "red")]`: from a value on, a color."""
    return {"mode": "absolute", "steps": [{"color": color, "value": value} for value, color in thresholds]}


def target(expr, legend, number, instant=False, form="time_series"):
    made = {"refId": chr(ord("A") + number), "datasource": DATASOURCE, "expr": expr, "legendFormat": legend, "format": form}
    return made | ({"instant": True, "range": False} if instant else {"range": True})


def panel(kind, title, description, queries, look):
    defaults = {"unit": look.get("unit", "short"), "min": look.get("min", 0), "custom": look.get("custom", {})}
    defaults = {name: value for name, value in defaults.items() if value is not None and value != {}}
    for name in ("max", "decimals", "noValue", "mappings"):
        if name in look:
            defaults[name] = look[name]
    defaults["thresholds"] = steps(look.get("thresholds", [(None, "green")]))
    return {
        "type": kind,
        "title": title,
        "description": description,
        "datasource": DATASOURCE,
        "targets": [
            target(expr, legend, number, look.get("instant", False), look.get("form", "time_series"))
            for number, (expr, legend) in enumerate(queries)
        ],
        "fieldConfig": {"defaults": defaults, "overrides": look.get("overrides", [])},
        "options": look.get("options", {}),
    }


def stat(title, description, expr, **look):
    options = {
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        "colorMode": "value",
        "graphMode": "area" if look.get("graph", True) else "none",
        "textMode": look.get("text_mode", "auto"),
        "justifyMode": "auto",
        "orientation": "auto",
    }
    return panel("stat", title, description, [(expr, look.get("legend", ""))], {"options": options} | look)


def series(title, description, queries, look):
    custom = {
        "drawStyle": "line",
        "lineWidth": 1,
        "fillOpacity": 25 if look.get("stack") else 8,
        "showPoints": "never",
        "stacking": {"mode": "normal" if look.get("stack") else "none", "group": "A"},
        "thresholdsStyle": {"mode": "line" if "thresholds" in look else "off"},
    }
    options = {
        "legend": {"displayMode": "table", "placement": "bottom", "calcs": ["lastNotNull", "max"], "showLegend": True},
        "tooltip": {"mode": "multi", "sort": "desc"},
    }
    return panel("timeseries", title, description, queries, {"custom": custom, "options": options} | look)


def heatmap(title, description, metric, more=""):
    options = {
        "calculate": False,
        "color": {"mode": "scheme", "scheme": "Spectral", "steps": 64, "reverse": True, "fill": "dark-orange", "exponent": 0.5},
        "yAxis": {"unit": "s"},
        "cellGap": 1,
        "tooltip": {"mode": "single", "yHistogram": True},
        "legend": {"show": True},
    }
    queries = [(f"sum by (le) (increase({of(metric + '_bucket', more)}[{RATE}]))", "{{le}}")]
    return panel("heatmap", title, description, queries, {"options": options, "form": "heatmap", "min": None})


def bars(title, description, queries, **look):
    options = {
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        "displayMode": "gradient",
        "orientation": "horizontal",
        "showUnfilled": True,
        "minVizHeight": 16,
        "minVizWidth": 8,
    }
    return panel("bargauge", title, description, queries, {"options": options, "instant": True} | look)


def table(title, description, queries, names, units):
    """Instant queries joined by their labels; `names` names the columns (`Value #A` is that of the first query)."""
    made = panel("table", title, description, queries, {"instant": True, "form": "table", "min": None, "options": {"cellHeight": "sm", "showHeader": True}})
    made["transformations"] = [
        {"id": "merge", "options": {}},
        {"id": "organize", "options": {"excludeByName": {"Time": True}, "renameByName": names, "indexByName": {}}},
    ]
    made["fieldConfig"]["overrides"] = [
        {"matcher": {"id": "byName", "options": column}, "properties": [{"id": "unit", "value": unit}]} for column, unit in units.items()
    ]
    return made
