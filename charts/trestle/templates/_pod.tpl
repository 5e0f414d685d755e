{{/* Parts of the pod of a node. */}}

{{/* Who it is and where it runs. */}}
{{- define "trestle.podPlace" -}}
serviceAccountName: {{ include "trestle.serviceAccountName" . }}
automountServiceAccountToken: {{ .Values.automountServiceAccountToken }}
enableServiceLinks: false
{{- with include "trestle.pullSecrets" . }}
imagePullSecrets:
  {{- . | nindent 2 }}
{{- end }}
{{- with .Values.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- range $name := tuple "priorityClassName" "runtimeClassName" "schedulerName" "dnsPolicy" }}
{{- with get $.Values $name }}
{{ $name }}: {{ . }}
{{- end }}
{{- end }}
{{- range $name := tuple "nodeSelector" "tolerations" "hostAliases" "dnsConfig" }}
{{- with get $.Values $name }}
{{ $name }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- include "trestle.affinity" . }}
{{- include "trestle.spread" . }}
{{- end }}

{{- define "trestle.affinity" -}}
{{- $term := dict "topologyKey" "kubernetes.io/hostname" "labelSelector" (dict "matchLabels" (include "trestle.nodeSelector" . | fromYaml)) -}}
{{- $affinity := .Values.affinity -}}
{{- if not $affinity -}}
{{- if eq .Values.antiAffinity "required" -}}
{{- $affinity = dict "podAntiAffinity" (dict "requiredDuringSchedulingIgnoredDuringExecution" (list $term)) -}}
{{- else if eq .Values.antiAffinity "preferred" -}}
{{- $weighed := dict "weight" 100 "podAffinityTerm" $term -}}
{{- $affinity = dict "podAntiAffinity" (dict "preferredDuringSchedulingIgnoredDuringExecution" (list $weighed)) -}}
{{- end -}}
{{- end -}}
{{- with $affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "trestle.spread" -}}
{{- if .Values.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- toYaml .Values.topologySpreadConstraints | nindent 2 }}
{{- else if .Values.topologySpread.enabled }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: {{ .Values.topologySpread.topologyKey }}
    whenUnsatisfiable: {{ .Values.topologySpread.whenUnsatisfiable }}
    labelSelector:
      matchLabels:
        {{- include "trestle.nodeSelector" . | nindent 8 }}
{{- end }}
{{- end }}

{{/* Neither probe asks for a majority: a node without one serves on. */}}
{{- define "trestle.probes" -}}
{{- range $name, $path := dict "startup" "/healthz" "liveness" "/healthz" "readiness" "/readyz" }}
{{- with get $.Values.probes $name }}
{{ $name }}Probe:
  httpGet: {path: {{ $path }}, port: admin}
  periodSeconds: {{ int .periodSeconds }}
  failureThreshold: {{ int .failureThreshold }}
  timeoutSeconds: {{ int .timeoutSeconds }}
{{- end }}
{{- end }}
{{- $sleeps := semverCompare ">=1.30.0-0" .Capabilities.KubeVersion.Version }}
{{- if and $sleeps (gt (int .Values.node.preStopSeconds) 0) }}
lifecycle:
  preStop:
    # Until all who send requests know that the pod ends. The image has no shell; before 1.30 Kubernetes had no such step.
    sleep: {seconds: {{ int .Values.node.preStopSeconds }}}
{{- end }}
{{- end }}

{{/* Secrets are for their owner alone, and through fsGroup for the group of the process. */}}
{{- define "trestle.volumes" -}}
- name: node
  configMap: {name: {{ include "trestle.fullname" . }}-node}
- name: document
  configMap: {name: {{ include "trestle.documentName" . }}}
- name: secrets
  secret: {secretName: {{ include "trestle.secretName" . }}, defaultMode: 0400}
- name: mesh
  secret: {secretName: {{ include "trestle.meshSecretName" . }}, defaultMode: 0400}
{{- if .Values.tls.enabled }}
- name: tls
  secret: {secretName: {{ include "trestle.tlsSecretName" . }}, defaultMode: 0400}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}
