# Shared by the scripts of this folder: where things are, what a node is, and how an image is packed.
set -euo pipefail
export LC_ALL=C
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
CACHE="${XDG_CACHE_HOME:-$HOME/.cache}/turnpike/cluster"
BIN="$CACHE/bin"       # what `build` compiled
IMAGES="$CACHE/images" # the cluster's own images, one archive each
KEPT="$CACHE/kept"     # every image that nodes were given, unpacked: the folder of a containerd, of which each new node gets a copy
STATE="$CACHE/state"   # one run of the cluster: certificates, etcd, containers, logs; `down` removes it
KUBECONFIG_FILE="$CACHE/kubeconfig"

KUBERNETES_VERSION=v1.36.3
KEDA=github.com/kedacore/keda/v2@v2.21.0 # the one whose CRDs the manifests are held against
BRIDGE=tpk0            # the machine's side of the nodes' network
HOST_IP=10.213.0.1
API_IP=10.213.0.11     # node1, which also runs the control plane
SERVICE_CIDR=10.96.0.0/16
POD_CIDR=10.244.0.0/16 # node N has 10.244.N.0/24
DNS_IP=10.96.0.10
CGROUP=turnpike-cluster

say() { printf '%s\n' "$*" >&2; }
fail() { say "error: $*"; exit 1; }
need_root() { [ "$(id -u)" = 0 ] || fail "needs root (network namespaces, mounts, control groups): run it with sudo"; }
module_dir() { # MODULE@VERSION: where its sources lie, fetched where they are not there yet
  go mod download -json "$1" | sed -n 's/^\t"Dir": "\(.*\)",\{0,1\}$/\1/p'
}
node_ip() { echo "10.213.0.$((10 + $1))"; }
alive() { # PID: a process that is dead but not yet collected by its parent does not count
  local state; state=$(sed 's/.*) //; s/ .*//' "/proc/$1/stat" 2>/dev/null) && [[ $state != [ZX] ]]
}
running_nodes() {
  local file
  for file in "$STATE"/node*/pid; do [ -e "$file" ] && alive "$(cat "$file")" && basename "$(dirname "$file")" || true; done
}
in_node() { # NODE COMMAND…: runs a command inside a node's namespaces, as the node's own processes see the machine
  local pid; pid=$(cat "$STATE/$1/pid"); shift
  nsenter -t "$pid" --net --mount --pid --uts --ipc -- "$@"
}
lock_kept() { # until this script ends, no other one changes what is kept
  mkdir -p "$KEPT"
  exec 9<"$KEPT" && flock 9
}
copy_kept() ( # FOLDER: becomes a containerd's, with all images. Nobody writes to their files, so these are links
  lock_kept
  mkdir -p "$1"
  for part in content.v1.content snapshotter.v1.overlayfs metadata.v1.bolt; do cp -al "$KEPT/io.containerd.$part" "$1"; done
  for part in snapshotter.v1.overlayfs/metadata.db metadata.v1.bolt/meta.db; do
    cp --remove-destination "$KEPT/io.containerd.$part" "$1/io.containerd.$part"
  done
  rm -rf "$1"/io.containerd.content.v1.content/ingest/* # what an import that was killed had begun: that would be written on
)
start_node() { # NODE: its network and folders are there already
  local dir="$STATE/$1" parent
  rm -f "$dir/started" "$dir/pid"
  # nsenter, not `ip netns exec`: that one mounts a new /sys and hides the control groups.
  setsid nsenter --net="/run/netns/$BRIDGE-$1" \
    unshare --pid --fork --kill-child --mount --uts --ipc "$HERE/node" "$dir" </dev/null >>"$dir/log/node.log" 2>&1 &
  parent=$!
  for _ in $(seq 100); do [ ! -e "$dir/started" ] || break; sleep 0.1; done
  [ -e "$dir/started" ] || fail "$1 did not start: see $dir/log"
  pgrep -P "$parent" >"$dir/pid" || fail "$1 has no first process: see $dir/log"
}
stop_node() { # NODE: as if its plug were pulled; the kernel ends everything in its namespaces with process 1
  local pid
  [ -e "$STATE/$1/pid" ] || return 0
  pid=$(cat "$STATE/$1/pid")
  # Only a process that was started for this folder: pids are used again.
  grep -qaF "$STATE/$1" "/proc/$pid/cmdline" 2>/dev/null || return 0
  kill -KILL "$pid"
  while alive "$pid"; do sleep 0.1; done # it is gone once all others are
}
# The cgroup hierarchies: one per controller (version 1), or the only one (version 2).
cgroup_roots() {
  if [ -e /sys/fs/cgroup/cgroup.controllers ]; then echo /sys/fs/cgroup; return; fi
  for root in /sys/fs/cgroup/*; do [ "${root##*/}" = unified ] || [ ! -e "$root/cgroup.procs" ] || echo "$root"; done
}
kubectl() { "$BIN/kubectl" --kubeconfig "$KUBECONFIG_FILE" "$@"; }

# pack_image NAME ROOTFS CONFIG OUT: an archive of one layer, without any container engine. NAME is whole (docker.io/…:tag);
# CONFIG is the image's "config" object: {"Entrypoint":[…],"User":"65532"}
pack_image() {
  local work layer_digest layer_size config_digest config_size digest size
  work=$(mktemp -d)
  mkdir -p "$work/blobs/sha256"
  put() { digest=$(sha256sum "$1" | cut -d' ' -f1); size=$(stat -c %s "$1"); mv "$1" "$work/blobs/sha256/$digest"; }
  tar --sort=name --numeric-owner --owner=0 --group=0 --mtime=@0 -C "$2" -cf "$work/layer" .
  put "$work/layer"; layer_digest=$digest layer_size=$size
  jq -nc --argjson config "$3" --arg diff "sha256:$layer_digest" \
    '{created:"1970-01-01T00:00:00Z",architecture:"amd64",os:"linux",config:$config,rootfs:{type:"layers",diff_ids:[$diff]}}' \
    >"$work/config"
  put "$work/config"; config_digest=$digest config_size=$size
  jq -nc --arg c "sha256:$config_digest" --argjson cs "$config_size" --arg l "sha256:$layer_digest" --argjson ls "$layer_size" \
    '{schemaVersion:2,mediaType:"application/vnd.oci.image.manifest.v1+json",
      config:{mediaType:"application/vnd.oci.image.config.v1+json",digest:$c,size:$cs},
      layers:[{mediaType:"application/vnd.oci.image.layer.v1.tar",digest:$l,size:$ls}]}' >"$work/manifest"
  put "$work/manifest"
  jq -nc --arg m "sha256:$digest" --argjson ms "$size" --arg name "$1" \
    '{schemaVersion:2,manifests:[{mediaType:"application/vnd.oci.image.manifest.v1+json",digest:$m,size:$ms,
      platform:{architecture:"amd64",os:"linux"},
      annotations:{"io.containerd.image.name":$name,"org.opencontainers.image.ref.name":($name|split(":")|last)}}]}' \
    >"$work/index.json"
  echo '{"imageLayoutVersion":"1.0.0"}' >"$work/oci-layout"
  tar -C "$work" -cf "$4.partial" oci-layout index.json blobs && mv "$4.partial" "$4"
  rm -rf "$work"
}

# pack_program NAME: an image of one static binary that was compiled.
pack_program() {
  local root
  root=$(mktemp -d); chmod 755 "$root"
  cp "$BIN/$1" "$root/$1"; mkdir -m 1777 "$root/tmp"
  pack_image "docker.io/turnpike-cluster/$1:1" "$root" "{\"Entrypoint\":[\"/$1\"],\"User\":\"65532\"}" "$IMAGES/$1.tar"
  rm -rf "$root"
}
