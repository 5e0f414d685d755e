{{/* The settings of a node, as its environment. */}}

{{/* `name=value,...` of a map, with what has a meaning there in percent-encoding. */}}
{{- define "trestle.pairs" -}}
{{- $pairs := list -}}
{{- range $name, $value := . -}}
{{- $pairs = append $pairs (printf "%s=%s" $name ($value | replace "%" "%25" | replace "," "%2C")) -}}
{{- end -}}
{{- join "," $pairs -}}
{{- end }}

{{/* Settings that are plain text, as a map of text: large numbers would come out as 3.6e+06. What is nothing is left to the binary. */}}
{{- define "trestle.settings" -}}
{{- $node := .Values.node -}}
{{- $any := ternary "[::]" "0.0.0.0" .Values.ipv6 -}}
{{- $secrets := "file:/etc/trestle/secrets/" -}}
{{- $headless := printf "%s-headless.%s.svc" (include "trestle.fullname" .) .Release.Namespace -}}
{{- $set := dict
  "TRESTLE_NODE" "/etc/trestle/node/node.toml"
  "TRESTLE_LISTEN" (printf "%s:8080" $any)
  "TRESTLE_ADMIN_LISTEN" (printf "%s:8081" $any)
  "TRESTLE_DATA_DIR" "/var/lib/trestle"
  "TRESTLE_DOCUMENT" (printf "/etc/trestle/document/%s" .Values.document.key)
  "TRESTLE_ROOT_TOKEN" (printf "%s%s" $secrets .Values.secrets.keys.rootToken)
  "TRESTLE_KEY_ENCRYPTION_KEY" (printf "%s%s" $secrets .Values.secrets.keys.keyEncryptionKey)
  "TRESTLE_CLUSTER_SECRET_FILE" (printf "/etc/trestle/secrets/%s" .Values.secrets.keys.clusterSecret)
  "TRESTLE_SEEDS" (printf "%s:10101" $headless)
  "TRESTLE_NODE_NAME" "$(POD_NAME)"
  "TRESTLE_MESH_NAME" .Values.mesh.name
  "TRESTLE_MESH_TLS_DIR" "/etc/trestle/mesh"
  "TRESTLE_MESH_LISTEN" (printf "%s:10102" $any)
  "TRESTLE_MESH_ADDRESS" (printf "$(POD_NAME).%s:10102" $headless)
  "TRESTLE_MESH_GOSSIP_LISTEN" (printf "%s:10101" $any)
  "TRESTLE_MESH_GOSSIP_ADDRESS" (ternary "[$(POD_IP)]:10101" "$(POD_IP):10101" .Values.ipv6)
  "TRESTLE_THREADS" (int $node.threads | toString)
  "TRESTLE_DRAIN_MS" (mul (int $node.drainSeconds) 1000 | toString)
  "TRESTLE_HEAD_TIMEOUT_MS" (mul (int $node.headTimeoutSeconds) 1000 | toString)
  "TRESTLE_IDLE_TIMEOUT_MS" (mul (int $node.idleTimeoutSeconds) 1000 | toString)
  "TRESTLE_CONNECTIONS_MAX" (int $node.connectionsMax | toString)
  "TRESTLE_LOG_FORMAT" $node.log.format
  "TRESTLE_LEDGER_BYTES_MAX" (include "trestle.ledgerBytes" .)
  "TRESTLE_LEDGER_KEEP_DAYS" (int $node.ledger.keepDays | toString)
-}}
{{- with .Values.secrets.keys.keyEncryptionKeyPrevious -}}
{{- $_ := set $set "TRESTLE_KEY_ENCRYPTION_KEY_PREVIOUS" (printf "%s%s" $secrets .) -}}
{{- end -}}
{{- range $name := tuple "authoritative" "watch" -}}
{{- if get $.Values.document $name -}}
{{- $_ := set $set (printf "TRESTLE_%s" (upper $name)) "true" -}}
{{- end -}}
{{- end -}}
{{- if .Values.tls.enabled -}}
{{- $_ := set $set "TRESTLE_TLS_CERT" "/etc/trestle/tls/tls.crt" -}}
{{- $_ := set $set "TRESTLE_TLS_KEY" "/etc/trestle/tls/tls.key" -}}
{{- end -}}
{{- with $node.log.filter -}}
{{- $_ := set $set "TRESTLE_LOG" . -}}
{{- end -}}
{{- with .Values.otlp -}}
{{- if .endpoint -}}
{{- $_ := set $set "TRESTLE_OTLP_ENDPOINT" .endpoint -}}
{{- $_ := set $set "TRESTLE_OTLP_PROTOCOL" .protocol -}}
{{- end -}}
{{- if .headers -}}{{- $_ := set $set "TRESTLE_OTLP_HEADERS" (include "trestle.pairs" .headers) -}}{{- end -}}
{{- if .ca -}}{{- $_ := set $set "TRESTLE_OTLP_CA" .ca -}}{{- end -}}
{{- if .resource -}}{{- $_ := set $set "TRESTLE_OTLP_RESOURCE" (include "trestle.pairs" .resource) -}}{{- end -}}
{{- end -}}
{{- range $name := tuple "sample" "errors" "parent" -}}
{{- $value := index $.Values.traces $name -}}
{{- if not (kindIs "invalid" $value) -}}
{{- $_ := set $set (printf "TRESTLE_TRACES_%s" (upper $name)) (toString $value) -}}
{{- end -}}
{{- end -}}
{{- range $name := tuple "include" "exclude" -}}
{{- with get $.Values.traces $name -}}
{{- $_ := set $set (printf "TRESTLE_TRACES_%s" (upper $name)) (join "," .) -}}
{{- end -}}
{{- end -}}
{{- with .Values.metrics -}}
{{- if not (kindIs "invalid" .pushIntervalMs) -}}{{- $_ := set $set "TRESTLE_METRICS_PUSH_INTERVAL_MS" (int64 .pushIntervalMs | toString) -}}{{- end -}}
{{- if not (kindIs "invalid" .keysMax) -}}{{- $_ := set $set "TRESTLE_METRICS_KEYS_MAX" (int64 .keysMax | toString) -}}{{- end -}}
{{- end -}}
{{- toJson $set -}}
{{- end }}

{{- define "trestle.environment" -}}
- name: POD_NAME
  valueFrom: {fieldRef: {fieldPath: metadata.name}}
- name: POD_IP
  valueFrom: {fieldRef: {fieldPath: status.podIP}}
{{- range $name, $value := include "trestle.settings" . | fromJson }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- range $name, $of := .Values.providerKeys.env }}
- name: {{ $name }}
  valueFrom:
    secretKeyRef: {name: {{ $of.name }}, key: {{ $of.key | quote }}}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "trestle.environmentFrom" -}}
{{- range .Values.providerKeys.secrets }}
- secretRef: {name: {{ . }}}
{{- end }}
{{- with .Values.extraEnvFrom }}
{{ toYaml . }}
{{- end }}
{{- end }}
