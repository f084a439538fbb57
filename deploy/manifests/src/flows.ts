import { DATABASE_SERVICES, entryOf, SERVICE_NAMES, type ServiceName } from '@turnpike/config/services';

/** The parts of a region beside its services, by the label `turnpike/role` of their pods. */
export const ROLES = ['postgres', 'redis', 'kafka', 'object-store', 'engine', 'media-engine'] as const;
export type Role = (typeof ROLES)[number];

/** The ports of those parts. Engines have a range, because one pod of simulated ones has a port for each model. */
const ROLE_PORTS: Record<Role, PortRange> = {
  postgres: tcp(5432),
  redis: tcp(6379),
  kafka: tcp(9092),
  'object-store': tcp(8080),
  engine: tcp(8000, 8099),
  'media-engine': tcp(8000, 8099),
};

/** Parties outside the region's namespace. */
export type Outsider = 'name server' | 'public internet' | 'collector' | 'Prometheus';

export type Party =
  | { kind: 'service'; name: ServiceName }
  | { kind: 'migration'; name: ServiceName }
  | { kind: 'role'; name: Role }
  | { kind: 'outsider'; name: Outsider };

export interface PortRange {
  protocol: 'TCP' | 'UDP';
  port: number;
  /** The last one, where there are several. */
  endPort?: number;
}

/** Somebody who may open connections to somebody else. */
export interface Flow {
  from: Party;
  to: Party;
  ports: PortRange[];
  why: string;
}

function tcp(port: number, endPort?: number): PortRange {
  return { protocol: 'TCP', port, ...(endPort !== undefined && { endPort }) };
}

const service = (name: ServiceName): Party => ({ kind: 'service', name });
const migration = (name: ServiceName): Party => ({ kind: 'migration', name });
const role = (name: Role): Party => ({ kind: 'role', name });
const outsider = (name: Outsider): Party => ({ kind: 'outsider', name });
const WEB = [tcp(80), tcp(443)];
/** The only services with a way out, each with the ports and the reason. */
const OUTSIDE: Partial<Record<ServiceName, { ports: PortRange[]; why: string }>> = {
  'model-router': { ports: WEB, why: "clients' images" },
  'media-jobs': { ports: WEB, why: "clients' images, and an object store outside" },
  'control-plane': {
    ports: [tcp(443), tcp(465), tcp(587)],
    why: 'identity providers, the payment processor, the bucket of documents and the mail server',
  },
};

/**
 * Lists every connection that a pod of a scope's namespace may open, from the list of services. Connections that differ between clusters
 * are in components instead: the gateway before the edge, the Kubernetes API and the other scope.
 */
export function listFlows(scope: 'region' | 'global'): Flow[] {
  const isIn = (name: ServiceName): boolean => entryOf(name).scope === scope;
  const ofServices = SERVICE_NAMES.filter(isIn).flatMap((name): Flow[] => [
    ...entryOf(name)
      .calls.filter(isIn)
      .map((callee): Flow => {
        const port = entryOf(callee).listeners[name === 'edge' ? 'public' : 'internal'];
        const why = name === 'edge' ? "clients' calls" : 'internal routes';
        return { from: service(name), to: service(callee), ports: [tcp(port)], why };
      }),
    ...(entryOf(name).consoleCalls ?? []).map((callee): Flow => {
      const ports = [tcp(entryOf(callee).listeners.internal)];
      return { from: service(name), to: service(callee), ports, why: 'console routes' };
    }),
    ...toOwnFlows(name),
    { from: outsider('Prometheus'), to: service(name), ports: [tcp(entryOf(name).listeners.internal)], why: 'metrics' },
  ]);
  const ofMigrations = DATABASE_SERVICES.filter(isIn).flatMap((name): Flow[] => [
    { from: migration(name), to: role('postgres'), ports: [ROLE_PORTS.postgres], why: 'its database' },
    askingNames(migration(name)),
  ]);
  const ofEngines = (scope === 'region' ? (['engine', 'media-engine'] as const) : []).map((name): Flow => {
    return { from: outsider('Prometheus'), to: role(name), ports: [ROLE_PORTS[name]], why: 'metrics' };
  });
  return [...ofServices, ...ofMigrations, ...ofEngines];
}

/** To stores, engines and beyond the region. */
function toOwnFlows(name: ServiceName): Flow[] {
  const { database, redis, eventLog, engines, objects } = entryOf(name);
  const outside = OUTSIDE[name];
  const to = (place: Role, why: string): Flow => {
    return { from: service(name), to: role(place), ports: [ROLE_PORTS[place]], why };
  };
  return [
    ...(database ? [to('postgres', 'its database')] : []),
    ...(redis ? [to('redis', 'limits, holds, spend')] : []),
    ...(eventLog ? [to('kafka', 'the event log, where it is Kafka')] : []),
    ...(objects ? [to('object-store', 'what was made, where the store is in the region')] : []),
    ...(engines === 'text' ? [to('engine', 'calls')] : []),
    ...(engines === 'media' ? [to('media-engine', 'jobs and calls')] : []),
    ...(outside ? [{ from: service(name), to: outsider('public internet'), ...outside }] : []),
    askingNames(service(name)),
    { from: service(name), to: outsider('collector'), ports: [tcp(4318)], why: 'traces' },
  ];
}

function askingNames(from: Party): Flow {
  return { from, to: outsider('name server'), ports: [{ protocol: 'UDP', port: 53 }, tcp(53)], why: 'names' };
}
