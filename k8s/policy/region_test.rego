# What the rules say of a region that keeps them, and of one mistake each.
package main_test

import rego.v1

digest := "sha256:6f7b03f7c2c8e2e784dcf9295400527b9b1270fd37b7e9a7285cf83b6951452d"

pod := {
	"serviceAccountName": "edge",
	"automountServiceAccountToken": false,
	"terminationGracePeriodSeconds": 710,
	"volumes": [{"name": "tmp", "emptyDir": {}}],
	"containers": [{
		"name": "edge",
		"image": "registry.example/edge:1.4.0",
		"env": [
			{"name": "NODE_OPTIONS", "value": "--max-old-space-size=640"},
			{"name": "DATABASE_URL", "valueFrom": {"secretKeyRef": {"name": "edge", "key": "DATABASE_URL"}}},
		],
	}],
}

budget := {
	"kind": "PodDisruptionBudget",
	"metadata": {"name": "edge", "namespace": "turnpike-us"},
	"spec": {"selector": {"matchLabels": {"app.kubernetes.io/name": "edge"}}},
}

workload(kind, app, spec) := {
	"kind": kind,
	"metadata": {"name": app, "namespace": "turnpike-us"},
	"spec": {"template": {"metadata": {"labels": {"app.kubernetes.io/name": app}}, "spec": spec}},
}

with_pod(changes) := [workload("Deployment", "edge", object.union(pod, changes)), budget]

with_container(changes) := with_pod({"containers": [object.union(pod.containers[0], changes)]})

documents(manifests) := [{"path": "region.yaml", "contents": manifest} | some manifest in manifests]

said(manifests) := denied if {
	given := documents(manifests)
	denied := data.main.deny with input as given
}

test_a_region_that_keeps_them if said(with_pod({})) == set()

test_an_image_of_a_digest if said(with_container({"image": sprintf("somebody/else@%s", [digest])})) == set()

test_an_image_of_a_registry_with_a_port if said(with_container({"image": "registry.example:5000/a/edge:1.4.0"})) == set()

test_an_image_of_this_machine if said(with_container({"image": "turnpike/engine-simulator:dev"})) == set()

test_an_image_of_somebody_else if count(said(with_container({"image": "registry.example/redis:7.0.1"}))) == 1

test_an_image_whose_tag_moves if count(said(with_container({"image": "registry.example/edge:latest"}))) == 1

test_an_image_without_a_tag if count(said(with_container({"image": "registry.example/edge"}))) == 1

test_a_container_before_the_first if {
	said(with_pod({"initContainers": [{"name": "first", "image": "busybox:1.36.1"}]})) == {"Deployment edge: the image busybox:1.36.1 is neither of a digest nor a release or build of ours"}
}

test_a_migration_of_the_same_image if {
	job := workload("Job", "migrate-edge", pod)
	said([job]) == set()
}

test_a_folder_of_the_node if count(said(with_pod({"volumes": [{"name": "x", "hostPath": {"path": "/"}}]}))) == 1

test_the_network_of_the_node if said(with_pod({"hostNetwork": true})) == {"Deployment edge: has hostNetwork"}

test_the_processes_of_the_node if count(said(with_pod({"hostPID": true}))) == 1

test_the_default_account if count(said(with_pod({"serviceAccountName": "default"}))) == 1

test_no_account if {
	spec := object.remove(pod, ["serviceAccountName"])
	count(said([workload("Deployment", "edge", spec), budget])) == 1
}

test_a_token if count(said(with_pod({"automountServiceAccountToken": true}))) == 1

test_a_token_that_nobody_refuses if {
	spec := object.remove(pod, ["automountServiceAccountToken"])
	count(said([workload("Deployment", "edge", spec), budget])) == 1
}

test_a_token_of_the_router if {
	container := {"name": "router", "image": "registry.example/model-router:1.4.0"}
	spec := object.union(pod, {"automountServiceAccountToken": true, "containers": [container]})
	said([workload("Job", "model-router", spec)]) == set()
}

test_an_account_with_a_token if {
	account := {"kind": "ServiceAccount", "metadata": {"name": "edge"}}
	count(said([account])) == 1
	said([object.union(account, {"automountServiceAccountToken": false})]) == set()
}

test_too_short_a_time_for_a_stream if count(said(with_pod({"terminationGracePeriodSeconds": 699}))) == 1

test_the_time_of_who_has_no_streams if {
	container := {"name": "auth", "image": "registry.example/auth:1.4.0"}
	spec := object.union(pod, {"terminationGracePeriodSeconds": 90, "containers": [container]})
	said([workload("Job", "migrate-auth", spec)]) == set()
}

test_a_secret if count(said([{"kind": "Secret", "metadata": {"name": "edge"}, "data": {}}])) == 1

test_a_secret_in_the_environment if {
	count(said(with_container({"env": [{"name": "REDIS_URL", "value": "redis://redis:6379"}]}))) == 1
	count(said(with_container({"env": [{"name": "STORE", "value": "redis://:password@redis:6379"}]}))) == 1
	count(said(with_container({"env": [{"name": "KEY_PEPPERS", "value": ""}]}))) == 1
}

test_a_secret_in_a_map if {
	map := {"kind": "ConfigMap", "metadata": {"name": "edge"}, "data": {"OBJECT_STORE_SECRET_ACCESS_KEY": "x"}}
	said([map]) == {"ConfigMap edge: OBJECT_STORE_SECRET_ACCESS_KEY is written down"}
}

test_a_setting_in_a_map if {
	map := {"kind": "ConfigMap", "metadata": {"name": "edge"}, "data": {"KEYS_PAGE_URL": "https://dashboard.example/keys"}}
	said([map]) == set()
}

test_no_budget if {
	said([workload("StatefulSet", "edge", pod)]) == {"StatefulSet edge: has no PodDisruptionBudget"}
}

test_a_budget_of_another if {
	count(said([workload("Deployment", "edge", pod), object.union(budget, {"metadata": {"namespace": "turnpike-eu"}})])) == 1
	other := {"spec": {"selector": {"matchLabels": {"app.kubernetes.io/name": "auth"}}}}
	count(said([workload("Deployment", "edge", pod), object.union(budget, other)])) == 1
}
