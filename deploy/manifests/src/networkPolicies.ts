import { entryOf, REGION_SERVICES, type ServiceName } from '@turnpike/config/services';
import { type Flow, listFlows, type Outsider, type Party, ROLES } from './flows.ts';

/** One Kubernetes object, as it is written. */
export type Manifest = {
  apiVersion: string;
  kind: string;
  metadata: { name: string; annotations?: Record<string, string> };
} & Record<string, unknown>;

/** Ranges that no client's address may lead to: private, shared, local, reserved and multicast, 169.254.169.254 among them. */
const NOT_PUBLIC_V4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '224.0.0.0/3',
];

const inNamespace = (namespace: string, labels?: Record<string, string>): object => ({
  namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
  ...(labels && { podSelector: { matchLabels: labels } }),
});

const OUTSIDER_PEERS: Record<Outsider, object[]> = {
  'name server': [inNamespace('kube-system', { 'k8s-app': 'kube-dns' })],
  // 2000::/3 is all of IPv6 that is given out.
  'public internet': [{ ipBlock: { cidr: '0.0.0.0/0', except: NOT_PUBLIC_V4 } }, { ipBlock: { cidr: '2000::/3' } }],
  collector: [inNamespace('monitoring', { 'app.kubernetes.io/name': 'opentelemetry-collector' })],
  Prometheus: [inNamespace('monitoring', { 'app.kubernetes.io/name': 'prometheus' })],
};

/** Selects a party's pods, in its policies and in those of others. */
function toPodSelector(party: Exclude<Party, { kind: 'outsider' }>): object {
  if (party.kind === 'role') return { matchLabels: { 'turnpike/role': party.name } };
  const name = party.kind === 'migration' ? `migrate-${party.name}` : party.name;
  return { matchLabels: { 'app.kubernetes.io/name': name } };
}

const toPeers = (party: Party): object[] =>
  party.kind === 'outsider' ? OUTSIDER_PEERS[party.name] : [{ podSelector: toPodSelector(party) }];

/** Stores and engines are made elsewhere, so that kube-score finds no pod of theirs among a region's manifests. */
const MADE_ELSEWHERE = { annotations: { 'kube-score/ignore': 'networkpolicy-targets-pod' } };

const isSame = (a: Party, b: Party): boolean => a.kind === b.kind && a.name === b.name;

function toPolicy(name: string, party: Exclude<Party, { kind: 'outsider' }>, flows: Flow[]): Manifest {
  const ingress = flows.filter(({ to }) => isSame(to, party));
  const egress = flows.filter(({ from }) => isSame(from, party));
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name, ...(party.kind === 'role' && MADE_ELSEWHERE) },
    spec: {
      podSelector: toPodSelector(party),
      policyTypes: ['Ingress', 'Egress'],
      ...(ingress.length > 0 && { ingress: ingress.map(({ from, ports }) => ({ from: toPeers(from), ports })) }),
      ...(egress.length > 0 && { egress: egress.map(({ to, ports }) => ({ to: toPeers(to), ports })) }),
    },
  };
}

/** The policies of a service, and of its migration where it has a database. */
export function toServicePolicies(name: ServiceName): Manifest[] {
  const flows = listFlows(entryOf(name).scope);
  return [
    toPolicy(name, { kind: 'service', name }, flows),
    ...(entryOf(name).database ? [toPolicy(`migrate-${name}`, { kind: 'migration', name }, flows)] : []),
  ];
}

/**
 * Returns the policies of a scope's namespace: the denial of all traffic that no policy allows, and the callers of stores and engines.
 * Traffic between stores is not here.
 */
export function toNamespacePolicies(scope: 'region' | 'global'): Manifest[] {
  const flows = listFlows(scope);
  const roles = ROLES.filter((name) => flows.some(({ to }) => isSame(to, { kind: 'role', name })));
  const deny: Manifest = {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'default-deny' },
    spec: { podSelector: {}, policyTypes: ['Ingress', 'Egress'] },
  };
  return [deny, ...roles.map((name) => toPolicy(name, { kind: 'role', name }, flows))];
}

/** The same as rows of a table: from, to, ports, what for. Callers that differ in nothing else share one. */
export function toFlowRows(): string[][] {
  const rows = new Map<string, { from: string[]; rest: string[] }>();
  for (const { from, to, ports, why } of listFlows('region')) {
    const rest = [toLabel(to), ports.map(toPortText).join(', '), why];
    const row = rows.get(rest.join('|')) ?? { from: [], rest };
    row.from.push(toLabel(from));
    rows.set(rest.join('|'), row);
  }
  return Array.from(rows.values(), ({ from, rest }) => [
    from.length === REGION_SERVICES.length ? 'every service' : from.join(', '),
    ...rest,
  ]);
}

function toLabel(party: Party): string {
  if (party.kind === 'migration') return `\`migrate-${party.name}\``;
  return party.kind === 'outsider' ? party.name : `\`${party.name}\``;
}

const toPortText = ({ protocol, port, endPort }: Flow['ports'][number]): string =>
  `${protocol === 'TCP' ? '' : 'UDP '}${port}${endPort === undefined ? '' : `–${endPort}`}`;
