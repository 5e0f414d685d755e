{{/* What both kinds of monitors say of a scrape. */}}
{{- define "trestle.scrape" -}}
- port: admin
  path: /metrics
  interval: {{ .interval }}
  scrapeTimeout: {{ .scrapeTimeout }}
  relabelings:
    - {action: replace, targetLabel: job, replacement: {{ .job }}}
    {{- with .relabelings }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .metricRelabelings }}
  metricRelabelings:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
