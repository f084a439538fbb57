# What every region has to be, beyond what the schemas and kube-score know. `npm run cluster -- test linted` reads it with conftest, of
# all objects of a rendered overlay at once (--combine).
package main

import rego.v1

manifests := [document.contents | some document in input]

workloads := [manifest | some manifest in manifests; manifest.kind in {"Deployment", "StatefulSet", "Job"}]

name_of(manifest) := sprintf("%s %s", [manifest.kind, manifest.metadata.name])

pod_of(workload) := workload.spec.template.spec

labels_of(workload) := workload.spec.template.metadata.labels

app_of(workload) := labels_of(workload)["app.kubernetes.io/name"]

containers_of(workload) := array.concat(
	object.get(pod_of(workload), "initContainers", []),
	pod_of(workload).containers,
)

# Images: what runs is what was looked at.

deny contains sprintf("%s: the image %s is neither of a digest nor a release or build of ours", [name_of(workload), image]) if {
	some workload in workloads
	some container in containers_of(workload)
	image := container.image
	not is_pinned(image)
	not is_own(image, workload)
}

is_pinned(image) if regex.match(`@sha256:[0-9a-f]{64}$`, image)

# A release of the service itself, from whatever registry; its migration is the same image.
is_own(image, workload) if {
	service := trim_prefix(app_of(workload), "migrate-")
	regex.match(sprintf(`/%s:[0-9]+\.[0-9]+\.[0-9]+$`, [service]), image)
}

# Built on this machine, which has no registry.
is_own(image, _) if regex.match(`^turnpike/[a-z0-9-]+:dev$`, image)

# The node is nobody's but the node's.

deny contains sprintf("%s: mounts %s of the node", [name_of(workload), volume.hostPath.path]) if {
	some workload in workloads
	some volume in object.get(pod_of(workload), "volumes", [])
	volume.hostPath
}

deny contains sprintf("%s: has %s", [name_of(workload), field]) if {
	some workload in workloads
	some field in ["hostNetwork", "hostPID", "hostIPC"]
	pod_of(workload)[field]
}

# Accounts: each its own, and a token of the Kubernetes API for the one service that asks it for something.

asks_the_api := {"model-router"}

deny contains sprintf("%s: has the default service account", [name_of(workload)]) if {
	some workload in workloads
	object.get(pod_of(workload), "serviceAccountName", "default") == "default"
}

deny contains sprintf("%s: does not refuse a token of the Kubernetes API", [name_of(workload)]) if {
	some workload in workloads
	object.get(pod_of(workload), "automountServiceAccountToken", true)
	not app_of(workload) in asks_the_api
}

deny contains sprintf("%s: does not refuse a token of the Kubernetes API", [name_of(account)]) if {
	some account in manifests
	account.kind == "ServiceAccount"
	object.get(account, "automountServiceAccountToken", true)
}

# A stream may take 600 s, and its draining goes before and after.

longest_streams := {"edge", "model-router"}

deny contains sprintf("%s: is killed after %v s, and its streams with it", [name_of(workload), seconds]) if {
	some workload in workloads
	app_of(workload) in longest_streams
	seconds := object.get(pod_of(workload), "terminationGracePeriodSeconds", 30)
	seconds < 700
}

# Secrets: named, and never written down.

secret_name := `(^|_)(DATABASE_URL|REDIS_URL|TOKEN_KEYS|PEPPERS|SALT_KEYS|PASSWORD|SECRET|SECRET_KEY|ACCESS_KEY|ACCESS_KEY_ID)$`

secret_value := `://[^/@\s]*:[^/@\s]+@|-----BEGIN [A-Z ]*PRIVATE KEY`

deny contains sprintf("%s: is written down", [name_of(secret)]) if {
	some secret in manifests
	secret.kind == "Secret"
}

deny contains sprintf("%s: %s is written down", [name_of(workload), variable.name]) if {
	some workload in workloads
	some container in containers_of(workload)
	some variable in object.get(container, "env", [])
	"value" in object.keys(variable)
	is_secret(variable.name, variable.value)
}

deny contains sprintf("%s: %s is written down", [name_of(map), key]) if {
	some map in manifests
	map.kind == "ConfigMap"
	some key, value in object.get(map, "data", {})
	is_secret(key, value)
}

is_secret(name, _) if regex.match(secret_name, name)

is_secret(_, value) if regex.match(secret_value, value)

# A node is emptied one replica at a time.

deny contains sprintf("%s: has no PodDisruptionBudget", [name_of(workload)]) if {
	some workload in workloads
	workload.kind in {"Deployment", "StatefulSet"}
	not has_budget(workload)
}

has_budget(workload) if {
	some budget in manifests
	budget.kind == "PodDisruptionBudget"
	budget.metadata.namespace == workload.metadata.namespace
	wanted := budget.spec.selector.matchLabels
	count(wanted) > 0
	every label, value in wanted {
		labels_of(workload)[label] == value
	}
}
