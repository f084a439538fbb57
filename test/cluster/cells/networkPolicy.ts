import { createServer, type Server } from 'node:net';
import { fileURLToPath } from 'node:url';
import { applyObjects } from '@turnpike/cluster/deployScope';
import { kubectl } from '@turnpike/cluster/kubectl';
import { namespaceOf, SCOPES } from '@turnpike/cluster/paths';
import { REGIONS, type Scope } from '@turnpike/config/region';
import { DATABASE_SERVICES, entryOf } from '@turnpike/config/services';
import { waitFor } from '@turnpike/local-stack/waitFor';
import { type Flow, listFlows, type Party } from '@turnpike/manifests/flows';
import type { Cell } from '../cell.ts';
import { type Container, listContainers, runInNetwork } from '../region/inContainer.ts';
import { parseListening } from '../region/parseListening.ts';
import { APP, isPodReady, listPods, type Pod } from '../region/pods.ts';

const PROBE = fileURLToPath(new URL('../tryConnections.ts', import.meta.url));
const ROLE = 'turnpike/role';
/** Stand-ins of what runs for a moment only, and of a pod that no policy names. */
const STAND_IN = 'turnpike.local/stand-in';
const STAND_INS = SCOPES.flatMap((scope) =>
  [...migrationsOf(scope), 'nobody'].map((name) => ({ namespace: namespaceOf(scope), name })),
);
const STANDING_WITHIN_MS = 60_000;
/** Pods that try at a time: most of it is waiting. */
const AT_ONCE = 6;

/** This machine, as pods reach it, where the suite listens itself: no pod may go out to a private address. */
const MACHINE = '10.213.0.1';
const MACHINE_PORTS = [8080, 4433];
const API_SERVER = { host: '10.213.0.11', port: 6443 };
const KUBELET = { host: '10.213.0.11', port: 10250 };

interface Target {
  host: string;
  port: number;
  /** For people. */
  name: string;
  isAllowed: (from: Pod) => boolean;
}

export const networkPolicy: Cell = {
  name: 'network-policy',
  does: 'every pod of both regions, of the account layer and of the system tries every port on which another one listens, from within its own network',
  holds:
    'exactly the documented connections open: k8s/README.md; from a region to the account layer those of its feed; between the regions, and to this machine, none',
  async run({ check, note, doing }) {
    const listeners = await Promise.all(MACHINE_PORTS.map(listenHere));
    await setStandIns();
    try {
      const pods = (
        await Promise.all([...SCOPES.map(namespaceOf), 'kube-system'].map((namespace) => listPods(namespace)))
      ).flat();
      const containers = await listContainers(pods);
      const ofPods = [...new Map(containers.map((container) => [container.pod.metadata.uid, container])).values()];
      check(ofPods.length === pods.length, 'a pod has no process to enter');
      doing('network-policy: looking where pods listen');
      const targets = [...(await listTargets(ofPods)), ...listOutside()];
      let [tried, opened] = [0, 0];
      const tryFrom = async (from: Container): Promise<void> => {
        doing(`network-policy: from ${toName(from.pod)}`);
        const others = targets.filter(({ host }) => host !== from.pod.status.podIP);
        const input = JSON.stringify(others.map(({ host, port }) => ({ host, port })));
        const results: boolean[] = JSON.parse(await runInNetwork(from, [process.execPath, PROBE], input));
        for (const [index, { name, isAllowed }] of others.entries()) {
          const isOpen = results[index] === true;
          tried += 1;
          opened += Number(isOpen);
          check(isOpen === isAllowed(from.pod), `${toApp(from.pod)} ${isOpen ? 'reaches' : 'does not reach'} ${name}`);
        }
      };
      for (let first = 0; first < ofPods.length; first += AT_ONCE)
        await Promise.all(ofPods.slice(first, first + AT_ONCE).map(tryFrom));
      note(`${ofPods.length} pods, ${targets.length} addresses, ${tried} connections tried, ${opened} opened`);
      check(opened > 0, 'nothing opened at all: the probe does not work');
    } finally {
      await removeStandIns();
      for (const listener of listeners) listener.close();
    }
  },
};

const toApp = ({ metadata }: Pod): string =>
  `${metadata.namespace}/${metadata.labels[APP] ?? metadata.labels[STAND_IN] ?? metadata.name}`;
const toName = ({ metadata }: Pod): string => `${metadata.namespace}/${metadata.name}`;

/** Every port on which a pod listens for others, read from its own network. */
async function listTargets(containers: readonly Container[]): Promise<Target[]> {
  const targets = containers.map(async (container): Promise<Target[]> => {
    const { pod } = container;
    const tables = await runInNetwork(container, ['cat', '/proc/net/tcp', '/proc/net/tcp6']);
    return parseListening(tables).map((port) => ({
      host: pod.status.podIP ?? '',
      port,
      name: `${toApp(pod)}:${port}`,
      isAllowed: (from) => isDocumented(from, pod, port),
    }));
  });
  return (await Promise.all(targets)).flat();
}

const FLOWS = { region: listFlows('region'), global: listFlows('global') };

/** Connections of this cluster alone: services of a region follow the feed at the control plane itself, and mails, payments and documents end in pods. */
const OWN_WAYS: { from: string[]; ofNamespaces: string[]; to: string; port: number }[] = [
  { from: ['auth', 'usage-ledger'], ofNamespaces: REGIONS.map(namespaceOf), to: 'control-plane', port: 9090 },
  { from: ['control-plane'], ofNamespaces: [namespaceOf('global')], to: 'mail-catcher', port: 2525 },
  { from: ['control-plane'], ofNamespaces: [namespaceOf('global')], to: 'payments-simulator', port: 8400 },
  { from: ['control-plane'], ofNamespaces: [namespaceOf('global')], to: 's3', port: 8080 },
  { from: ['payments-simulator'], ofNamespaces: [namespaceOf('global')], to: 'control-plane', port: 8080 },
];

function isDocumented(from: Pod, to: Pod, port: number): boolean {
  if (to.metadata.namespace === 'kube-system' && from.metadata.namespace === 'kube-system') return true;
  return isOwnWay(from, to, port) || flowsOf(from).some((flow) => isOfFlow(flow, from, to, port));
}

const flowsOf = ({ metadata }: Pod): readonly Flow[] =>
  metadata.namespace === namespaceOf('global') ? FLOWS.global : FLOWS.region;

const isOfFlow = (flow: Flow, from: Pod, to: Pod, port: number): boolean =>
  isParty(flow.from, from, to.metadata.namespace) &&
  isParty(flow.to, to, from.metadata.namespace) &&
  flow.ports.some(
    ({ protocol, port: first, endPort = first }) => protocol === 'TCP' && first <= port && port <= endPort,
  );

const isOwnWay = ({ metadata: from }: Pod, { metadata: to }: Pod, port: number): boolean =>
  to.namespace === namespaceOf('global') &&
  OWN_WAYS.some(
    (way) =>
      way.port === port &&
      way.to === to.labels[APP] &&
      way.from.includes(from.labels[APP] ?? '') &&
      way.ofNamespaces.includes(from.namespace),
  );

/** Whether a pod is what a flow names; `other` is the namespace of the other end. */
function isParty(party: Party, { metadata: { labels, namespace } }: Pod, other: string): boolean {
  if (party.kind === 'outsider')
    return party.name === 'name server' && namespace === 'kube-system' && labels['k8s-app'] === 'kube-dns';
  // Names are asked of the name server alone; everything else is of the same namespace.
  if (namespace !== other && other !== 'kube-system') return false;
  if (namespace === 'kube-system') return false;
  if (party.kind === 'role') return labels[ROLE] === party.name;
  return labels[APP] === (party.kind === 'migration' ? `migrate-${party.name}` : party.name);
}

/** Lists targets that are no pod: the Kubernetes API, which only routers call, the kubelet, and this machine. */
function listOutside(): Target[] {
  const isOfSystem = ({ metadata }: Pod): boolean => metadata.namespace === 'kube-system';
  return [
    {
      ...API_SERVER,
      name: 'the Kubernetes API',
      isAllowed: (from) => isOfSystem(from) || from.metadata.labels[APP] === 'model-router',
    },
    { ...KUBELET, name: 'the kubelet', isAllowed: isOfSystem },
    ...MACHINE_PORTS.map((port) => ({ host: MACHINE, port, name: `this machine:${port}`, isAllowed: isOfSystem })),
  ];
}

/** The labels of the migrations of a scope. */
function migrationsOf(scope: Scope): string[] {
  const kind = scope === 'global' ? 'global' : 'region';
  return DATABASE_SERVICES.filter((service) => entryOf(service).scope === kind).map((service) => `migrate-${service}`);
}

const listenHere = (port: number): Promise<Server> =>
  new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy()).once('error', reject);
    server.listen(port, MACHINE, () => resolve(server));
  });

async function setStandIns(): Promise<void> {
  await applyObjects(STAND_INS.map(toStandIn));
  const areReady = async (): Promise<true | undefined> => {
    const pods = (await Promise.all(SCOPES.map((scope) => listPods(namespaceOf(scope))))).flat();
    const standing = pods.filter(({ metadata }) => STAND_IN in metadata.labels);
    return (standing.length === STAND_INS.length && standing.every(isPodReady)) || undefined;
  };
  if (!(await waitFor(areReady, { timeoutMs: STANDING_WITHIN_MS, intervalMs: 500 })))
    throw new Error('a stand-in does not start');
}

async function removeStandIns(): Promise<void> {
  for (const scope of SCOPES)
    await kubectl(['delete', 'pods', '-n', namespaceOf(scope), '-l', STAND_IN, '--grace-period=1', '--wait=false']);
}

/** A pod that only waits, with the labels by which policies know the other one. */
const toStandIn = ({ namespace, name }: { namespace: string; name: string }): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: `stand-in-${name}`,
    namespace,
    labels: { [STAND_IN]: name, ...(name !== 'nobody' && { [APP]: name, [ROLE]: 'migration' }) },
  },
  spec: {
    automountServiceAccountToken: false,
    securityContext: { runAsNonRoot: true, runAsUser: 65532, seccompProfile: { type: 'RuntimeDefault' } },
    containers: [
      {
        name: 'wait',
        image: 'turnpike-cluster/pause:1',
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        },
      },
    ],
  },
});
