import { SERVICES, type ServiceName, type ServicePorts, type StackPorts } from './stackPorts.ts';
import type { PortOf } from './toServiceEnvironments.ts';

/** The parts that services connect to. */
export type LinkTarget = Exclude<ServiceName, 'edge'> | 'postgres' | 'redis' | 'kafka' | `engines-${number}`;

/** One service's way to a part. */
export interface StackLink {
  from: ServiceName;
  to: LinkTarget;
  /** Where the part listens. */
  port: number;
  /** All processes of a service that has several; whoever opens the link leads each connection to one that is ready. */
  replicas?: LinkReplica[];
}

/** One of several processes that a link may lead to. */
export interface LinkReplica {
  /** Where it listens for who uses the link. */
  port: number;
  /** Its internal listener, which says whether it is ready. */
  internalPort: number;
}

/** Puts something between two parts: gives the port by which `from` reaches `to` instead. Called before either runs. */
export type OpenLink = (link: StackLink) => Promise<number>;

/** Every connection between two processes of a stack. */
export function listLinks(ports: StackPorts, { kafka }: { kafka: boolean }): StackLink[] {
  const serviceOf = (to: LinkTarget & ServiceName, listener: keyof ServicePorts) => ({
    to,
    port: ports.services[to][listener],
    ...(ports.replicas[to].length > 0 && { replicas: listReplicas(ports, to, listener) }),
  });
  const publicOf = (to: LinkTarget & ServiceName) => serviceOf(to, 'port');
  const internalOf = (to: LinkTarget & ServiceName) => serviceOf(to, 'internalPort');
  const postgres = { to: 'postgres' as const, port: ports.postgres };
  const eventLogOf = (from: keyof StackPorts['kafkaListeners']) =>
    kafka ? [{ to: 'kafka' as const, port: ports.kafkaListeners[from] }] : [];
  const engines = ports.engines.flatMap((enginePorts, simulator) =>
    enginePorts.map((port) => ({ to: `engines-${simulator + 1}` as const, port })),
  );
  const targets: Record<ServiceName, Omit<StackLink, 'from'>[]> = {
    edge: [publicOf('auth'), publicOf('catalog'), publicOf('model-router'), publicOf('usage-ledger')],
    auth: [postgres, internalOf('model-router')],
    catalog: [postgres, internalOf('auth'), internalOf('model-router')],
    'model-router': [
      { to: 'redis', port: ports.redis },
      internalOf('auth'),
      internalOf('catalog'),
      internalOf('usage-ledger'),
      ...eventLogOf('model-router'),
      ...engines,
    ],
    'usage-ledger': [
      postgres,
      internalOf('auth'),
      internalOf('catalog'),
      internalOf('model-router'),
      ...eventLogOf('usage-ledger'),
    ],
  };
  return SERVICES.flatMap((from) => targets[from].map((target) => ({ from, ...target })));
}

/** Every process of a service, by one of its listeners. */
export function listReplicas(ports: StackPorts, service: ServiceName, listener: keyof ServicePorts): LinkReplica[] {
  return [ports.services[service], ...ports.replicas[service]].map((replica) => ({
    port: replica[listener],
    internalPort: replica.internalPort,
  }));
}

/** Opens every link that there is, and says by which port a service then reaches another part's. */
export async function openLinks(links: StackLink[], openLink: OpenLink): Promise<PortOf> {
  const opened = await Promise.all(
    links.map(async (link) => [`${link.from} ${link.port}`, await openLink(link)] as const),
  );
  const portsByLink = new Map(opened);
  return (from, port) => portsByLink.get(`${from} ${port}`) ?? port;
}
