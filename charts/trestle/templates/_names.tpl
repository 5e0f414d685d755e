{{/* Names, labels and images. */}}

{{- define "trestle.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end }}

{{/* At most 40 characters: Kubernetes and the chart put theirs behind it, and labels have at most 63. */}}
{{- define "trestle.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "trestle.name" . -}}
{{- ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end }}

{{/* What never changes, for selectors and for the claims of the StatefulSet. */}}
{{- define "trestle.selector" -}}
app.kubernetes.io/name: {{ include "trestle.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "trestle.nodeSelector" -}}
{{ include "trestle.selector" . }}
app.kubernetes.io/component: node
{{- end }}

{{- define "trestle.labels" -}}
{{ include "trestle.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Metadata of an object: (dict "root" $ "name" NAME "component" COMPONENT "labels" MAP "annotations" MAP "namespace" NAME). */}}
{{- define "trestle.metadata" -}}
{{- $annotations := merge (dict) (.annotations | default dict) .root.Values.commonAnnotations -}}
name: {{ .name }}
namespace: {{ .namespace | default .root.Release.Namespace }}
labels:
  {{- include "trestle.labels" .root | nindent 2 }}
  {{- with .component }}
  app.kubernetes.io/component: {{ . }}
  {{- end }}
  {{- with .labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with $annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "trestle.image" -}}
{{- $image := .Values.image -}}
{{- $registry := .Values.global.imageRegistry | default $image.registry -}}
{{- $name := ternary (printf "%s/%s" $registry $image.repository) $image.repository (ne $registry "") -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $name $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $name ($image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end }}

{{- define "trestle.pullSecrets" -}}
{{- range concat .Values.global.imagePullSecrets .Values.image.pullSecrets | uniq }}
- name: {{ . }}
{{- end }}
{{- end }}

{{- define "trestle.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "trestle.fullname" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end }}

{{- define "trestle.secretName" -}}
{{- .Values.secrets.existingSecret | default (printf "%s-secrets" (include "trestle.fullname" .)) -}}
{{- end }}

{{- define "trestle.meshSecretName" -}}
{{- .Values.mesh.tls.existingSecret | default (printf "%s-mesh" (include "trestle.fullname" .)) -}}
{{- end }}

{{- define "trestle.tlsSecretName" -}}
{{- .Values.tls.existingSecret | default (printf "%s-tls" (include "trestle.fullname" .)) -}}
{{- end }}

{{- define "trestle.documentName" -}}
{{- .Values.document.existingConfigMap | default (printf "%s-document" (include "trestle.fullname" .)) -}}
{{- end }}

{{/* Where hooks, backups and tests ask a node. */}}
{{- define "trestle.adminUrl" -}}
{{- printf "http://%s-admin.%s.svc:8081" (include "trestle.fullname" .) .Release.Namespace -}}
{{- end }}
