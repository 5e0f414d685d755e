{{/* The pod of a command that asks the nodes: hooks, backups, tests. */}}

{{- define "trestle.jobPod" -}}
serviceAccountName: {{ include "trestle.serviceAccountName" . }}
automountServiceAccountToken: false
enableServiceLinks: false
restartPolicy: Never
{{- with include "trestle.pullSecrets" . }}
imagePullSecrets:
  {{- . | nindent 2 }}
{{- end }}
{{- with .Values.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The container: (dict "root" $ "name" NAME "args" LIST "env" LIST). */}}
{{- define "trestle.jobContainer" -}}
- name: {{ .name }}
  image: {{ include "trestle.image" .root }}
  imagePullPolicy: {{ .root.Values.image.pullPolicy }}
  args: {{ toJson .args }}
  {{- with .root.Values.securityContext }}
  securityContext:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .root.Values.jobResources }}
  resources:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  env:
    {{- toYaml .env | nindent 4 }}
{{- end }}

{{/* Which node, and the token for it. */}}
{{- define "trestle.adminEnvironment" -}}
- name: TRESTLE_URL
  value: {{ include "trestle.adminUrl" . }}
- name: TRESTLE_ADMIN_TOKEN
  valueFrom:
    secretKeyRef:
      name: {{ include "trestle.secretName" . }}
      key: {{ .Values.secrets.keys.rootToken }}
{{- end }}

{{/* Labels of its pod. Not those of a node: services and the budget must not count it. */}}
{{- define "trestle.jobLabels" -}}
{{ include "trestle.labels" .root }}
app.kubernetes.io/component: {{ .component }}
{{- if .root.Values.identity.azure.clientId }}
azure.workload.identity/use: "true"
{{- end }}
{{- end }}
