{{/* Numbers that follow from others. */}}

{{/* Those who vote: the largest odd number of nodes, at most 7. */}}
{{- define "trestle.voters" -}}
{{- $replicas := int .Values.replicas -}}
{{- min 7 (sub $replicas (sub 1 (mod $replicas 2))) -}}
{{- end }}

{{/* How many of those who vote may be away. */}}
{{- define "trestle.spare" -}}
{{- div (sub (int (include "trestle.voters" .)) 1) 2 -}}
{{- end }}

{{/* Beyond the drain a node hands over what it leads and has counted, and writes its log to the end: 15 s at most. */}}
{{- define "trestle.graceMin" -}}
{{- add (int .Values.node.preStopSeconds) (int .Values.node.drainSeconds) 15 -}}
{{- end }}

{{- define "trestle.grace" -}}
{{- if kindIs "invalid" .Values.terminationGracePeriodSeconds -}}
{{- add (int (include "trestle.graceMin" .)) 15 -}}
{{- else -}}
{{- int .Values.terminationGracePeriodSeconds -}}
{{- end -}}
{{- end }}

{{/* Bytes of a quantity such as 20Gi. */}}
{{- define "trestle.bytes" -}}
{{- $units := dict "" 1 "k" 1000 "M" 1000000 "G" 1000000000 "T" 1000000000000 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 -}}
{{- $text := toString . -}}
{{- if not (regexMatch "^[0-9]+(k|M|G|T|Ki|Mi|Gi|Ti)?$" $text) -}}
{{- fail (printf "persistence.size: `%s` must be a whole number with one of the units k, M, G, T, Ki, Mi, Gi, Ti, such as 20Gi" $text) -}}
{{- end -}}
{{- mul (regexFind "^[0-9]+" $text | int64) (get $units (regexFind "[a-zA-Z]*$" $text) | int64) -}}
{{- end }}

{{/* The rest of the disk is for the log of the cluster, its snapshots, and the file system. */}}
{{- define "trestle.ledgerBytes" -}}
{{- if kindIs "invalid" .Values.node.ledger.bytesMax -}}
{{- div (mul (include "trestle.bytes" .Values.persistence.size | int64) 3) 4 -}}
{{- else -}}
{{- .Values.node.ledger.bytesMax | int64 -}}
{{- end -}}
{{- end }}
