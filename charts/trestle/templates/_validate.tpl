{{/* Values that contradict each other. Kinds and misspelt names are the schema's. */}}

{{- define "trestle.validate" -}}
{{- $values := .Values -}}
{{- $replicas := int $values.replicas -}}
{{- if or (lt $replicas 1) (gt $replicas 32) -}}
{{- fail (printf "replicas: is %d, a cluster has 1 to 32 nodes" $replicas) -}}
{{- end -}}
{{- if not $values.persistence.enabled -}}
{{- fail "persistence.enabled: must be true: the disk of a node holds its vote, the document and the ledger of what was spent; a node with an empty disk is another node, and a restart of most of them would lose the cluster" -}}
{{- end -}}
{{- include "trestle.validateSecrets" . -}}
{{- include "trestle.validateDocument" . -}}
{{- include "trestle.validateWays" . -}}
{{- include "trestle.validateAvailability" . -}}
{{- include "trestle.validateSettings" . -}}
{{- include "trestle.validateRest" . -}}
{{- end }}

{{- define "trestle.validateSecrets" -}}
{{- $values := .Values -}}
{{- if and $values.secrets.keys.keyEncryptionKeyPrevious (not $values.secrets.existingSecret) -}}
{{- fail "secrets.keys.keyEncryptionKeyPrevious: needs secrets.existingSecret: the secret that the chart makes never changes" -}}
{{- end -}}
{{- if and $values.mesh.tls.existingSecret $values.mesh.tls.certManager.enabled -}}
{{- fail "mesh.tls: set one of existingSecret and certManager.enabled" -}}
{{- end -}}
{{- with $values.tls -}}
{{- if and .enabled .existingSecret .certManager.enabled -}}
{{- fail "tls: set one of existingSecret and certManager.enabled" -}}
{{- end -}}
{{- if and .enabled (not .existingSecret) (not .certManager.enabled) -}}
{{- fail "tls.enabled: needs a certificate: set tls.existingSecret, or tls.certManager.enabled" -}}
{{- end -}}
{{- if and (not .enabled) (or .existingSecret .certManager.enabled) -}}
{{- fail "tls: a certificate is given, and not served: set tls.enabled" -}}
{{- end -}}
{{- if and .certManager.enabled (not .certManager.issuerRef.name) -}}
{{- fail "tls.certManager.issuerRef: needs the name of an issuer that clients trust" -}}
{{- end -}}
{{- end -}}
{{- $identity := $values.identity -}}
{{- if and (not $values.serviceAccount.create) (or $identity.aws.roleArn $identity.gcp.serviceAccount $identity.azure.clientId) -}}
{{- fail "identity: is written to the service account: set serviceAccount.create, or annotate your own and leave identity empty" -}}
{{- end -}}
{{- if and $identity.azure.tenantId (not $identity.azure.clientId) -}}
{{- fail "identity.azure.tenantId: needs identity.azure.clientId" -}}
{{- end -}}
{{- end }}

{{- define "trestle.validateDocument" -}}
{{- with .Values.document -}}
{{- if and .content .existingConfigMap -}}
{{- fail "document: set one of content and existingConfigMap" -}}
{{- end -}}
{{- if and .watch (not .authoritative) -}}
{{- fail "document.watch: is for a document that is the only source: set document.authoritative too" -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "trestle.validateWays" -}}
{{- $values := .Values -}}
{{- if $values.ingress.enabled -}}
{{- if not $values.ingress.hosts -}}
{{- fail "ingress.hosts: at least one host is needed" -}}
{{- end -}}
{{- range $values.ingress.hosts -}}
{{- if not .host -}}
{{- fail "ingress.hosts: each needs a `host`" -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and $values.httpRoute.enabled (not $values.httpRoute.parentRefs) -}}
{{- fail "httpRoute.parentRefs: at least one gateway is needed" -}}
{{- end -}}
{{- with $values.service -}}
{{- if and .loadBalancerSourceRanges (ne .type "LoadBalancer") -}}
{{- fail "service.loadBalancerSourceRanges: is for service.type LoadBalancer; use networkPolicy.clients for a ClusterIP" -}}
{{- end -}}
{{- if and .loadBalancerClass (ne .type "LoadBalancer") -}}
{{- fail "service.loadBalancerClass: is for service.type LoadBalancer" -}}
{{- end -}}
{{- if and (eq .type "ClusterIP") (or .nodePort .externalTrafficPolicy) -}}
{{- fail "service: nodePort and externalTrafficPolicy are for service.type NodePort or LoadBalancer" -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "trestle.validateAvailability" -}}
{{- $replicas := int .Values.replicas -}}
{{- $spare := int (include "trestle.spare" .) -}}
{{- $budget := .Values.podDisruptionBudget -}}
{{- $min := $budget.minAvailable -}}
{{- $max := $budget.maxUnavailable -}}
{{- if and (not (kindIs "invalid" $min)) (not (kindIs "invalid" $max)) -}}
{{- fail "podDisruptionBudget: set one of minAvailable and maxUnavailable" -}}
{{- end -}}
{{- if and (gt $replicas 1) (not (kindIs "invalid" $min)) (ge (int $min) $replicas) -}}
{{- fail (printf "podDisruptionBudget.minAvailable: is %d of %d nodes: no machine could ever be drained" (int $min) $replicas) -}}
{{- end -}}
{{- $gone := 0 -}}
{{- if not (kindIs "invalid" $min) -}}{{- $gone = sub $replicas (int $min) -}}{{- end -}}
{{- if not (kindIs "invalid" $max) -}}{{- $gone = int $max -}}{{- end -}}
{{- if and (ge $replicas 3) (gt (int $gone) $spare) -}}
{{- fail (printf "podDisruptionBudget: lets %d of %d nodes go at once; more than %d would take the majority with them" (int $gone) $replicas $spare) -}}
{{- end -}}
{{- $grace := int (include "trestle.grace" .) -}}
{{- $least := int (include "trestle.graceMin" .) -}}
{{- if lt $grace $least -}}
{{- fail (printf "terminationGracePeriodSeconds: is %d, at least %d are needed: node.preStopSeconds, node.drainSeconds, and 15 for the end; otherwise requests that run are killed" $grace $least) -}}
{{- end -}}
{{- end }}

{{- define "trestle.validateSettings" -}}
{{- $values := .Values -}}
{{- $size := include "trestle.bytes" $values.persistence.size | int64 -}}
{{- $ledger := include "trestle.ledgerBytes" . | int64 -}}
{{- if gt (mul $ledger 10) (mul $size 9) -}}
{{- fail (printf "node.ledger.bytesMax: %d bytes leave no room on a disk of %s for the log of the cluster: at most nine tenths" $ledger $values.persistence.size) -}}
{{- end -}}
{{- if lt $ledger 16777216 -}}
{{- fail (printf "node.ledger.bytesMax: is %d, at least 16777216 are needed" $ledger) -}}
{{- end -}}
{{- $traces := list -}}
{{- range $name, $value := $values.traces -}}
{{- if not (or (kindIs "invalid" $value) (and (kindIs "slice" $value) (empty $value))) -}}
{{- $traces = append $traces $name -}}
{{- end -}}
{{- end -}}
{{- if and $traces (not $values.otlp.endpoint) -}}
{{- fail (printf "traces.%s: is of no use without otlp.endpoint" (first $traces)) -}}
{{- end -}}
{{- if not (or (kindIs "invalid" $values.metrics.pushIntervalMs) $values.otlp.endpoint) -}}
{{- fail "metrics.pushIntervalMs: is of no use without otlp.endpoint" -}}
{{- end -}}
{{- if and $values.otlp.ca (hasPrefix "http://" $values.otlp.endpoint) -}}
{{- fail "otlp.ca: is for an otlp.endpoint with https" -}}
{{- end -}}
{{- if and (or $values.otlp.headers $values.otlp.ca $values.otlp.resource) (not $values.otlp.endpoint) -}}
{{- fail "otlp: headers, ca and resource are of no use without otlp.endpoint" -}}
{{- end -}}
{{- $set := include "trestle.settings" . | fromJson -}}
{{- range $values.extraEnv -}}
{{- if or (hasKey $set .name) (has .name (list "POD_NAME" "POD_IP")) (hasKey $values.providerKeys.env .name) -}}
{{- fail (printf "extraEnv: %s is set by the chart already; use its own value" .name) -}}
{{- end -}}
{{- end -}}
{{- range $name, $_ := $values.providerKeys.env -}}
{{- if hasPrefix "TRESTLE_" $name -}}
{{- fail (printf "providerKeys.env: %s: names with TRESTLE_ are settings of the node" $name) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "trestle.validateRest" -}}
{{- $values := .Values -}}
{{- if and $values.serviceMonitor.enabled $values.podMonitor.enabled -}}
{{- fail "serviceMonitor and podMonitor: enable one, otherwise each series is there twice" -}}
{{- end -}}
{{- if and $values.backup.enabled (not $values.backup.persistence.enabled) (not $values.backup.upload.image) -}}
{{- fail "backup: needs a place: backup.persistence.enabled, or a container that takes the file elsewhere (backup.upload.image)" -}}
{{- end -}}
{{- $request := $values.tests.request -}}
{{- if and $request.model (not $request.keySecret.name) -}}
{{- fail "tests.request.keySecret: needs the secret with the key of a client, as {name, key}" -}}
{{- end -}}
{{- if and $request.model (not $request.url) $values.tls.enabled (or (not $values.tls.certManager.enabled) $values.tls.certManager.dnsNames) -}}
{{- fail "tests.request.url: is needed, as the certificate of tls is not for the name of the service" -}}
{{- end -}}
{{- if and $request.keySecret.name (not $request.model) -}}
{{- fail "tests.request.model: needs the name of a model" -}}
{{- end -}}
{{- end }}
