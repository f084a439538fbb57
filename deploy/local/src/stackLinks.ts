import {
  entryOf,
  type GlobalService,
  type InternalService,
  isEventLogService,
  type ServiceName,
} from '@turnpike/config/services';
import type { StackPorts } from './stackPorts.ts';
import type { PortOf } from './toServiceEnvironments.ts';

/** The parts that services connect to. */
export type LinkTarget =
  | InternalService
  | GlobalService
  | 'postgres'
  | 'redis'
  | 'kafka'
  | `engines-${number}`
  | 'media'
  | 's3'
  | 'mail-catcher'
  | 'payments-simulator';

/** One service's way to a part. */
export interface StackLink {
  from: ServiceName;
  to: LinkTarget;
  /** The port of the part. */
  port: number;
  /** All processes of a service with several. The link sends each connection to one that is ready. */
  replicas?: LinkReplica[];
}

/** One of several processes that a link may lead to. */
export interface LinkReplica {
  /** The port for users of the link. */
  port: number;
  /** Its internal listener, which reports readiness. */
  internalPort: number;
}

/** Opens a link between two parts and returns the port by which `from` reaches `to`. Called before either runs. */
export type OpenLink = (link: StackLink) => Promise<number>;

/**
 * Every connection of these services to other processes, but for those to the identity provider: its one address is the
 * issuer, which browsers use too.
 */
export function listLinks(
  ports: StackPorts,
  { services, kafka, s3 }: { services: readonly ServiceName[]; kafka: boolean; s3: boolean },
): StackLink[] {
  const toService = (to: InternalService | GlobalService, listener: 'port' | 'internalPort') => ({
    to,
    port: ports.services[to][listener],
    ...(ports.replicas[to].length > 0 && { replicas: listReplicas(ports, to, listener) }),
  });
  const engines = ports.engines.flatMap((enginePorts, simulator) =>
    enginePorts.map((port) => ({ to: `engines-${simulator + 1}` as const, port })),
  );
  const media = ports.media.flat().map(({ port }) => ({ to: 'media' as const, port }));
  const listTargets = (from: ServiceName): Omit<StackLink, 'from'>[] => {
    const entry = entryOf(from);
    return [
      ...(entry.database ? [{ to: 'postgres' as const, port: ports.postgres }] : []),
      ...(entry.redis ? [{ to: 'redis' as const, port: ports.redis }] : []),
      ...entry.calls.map((to) => toService(to, from === 'edge' ? 'port' : 'internalPort')),
      ...(entry.consoleCalls ?? []).map((to) => toService(to, 'internalPort')),
      ...(kafka && isEventLogService(from) ? [{ to: 'kafka' as const, port: ports.kafkaListeners[from] }] : []),
      ...(entry.engines === 'text' ? engines : []),
      ...(entry.engines === 'media' ? media : []),
      ...(from === 'control-plane'
        ? [
            { to: 'mail-catcher' as const, port: ports.mailCatcher.smtpPort },
            { to: 'payments-simulator' as const, port: ports.payments.port },
          ]
        : []),
      ...(s3 && entry.objects ? [{ to: 's3' as const, port: ports.s3 }] : []),
    ];
  };
  return services.flatMap((from) => listTargets(from).map((target) => ({ from, ...target })));
}

/** Every process of a service, by one of its listeners. */
export function listReplicas(
  ports: StackPorts,
  service: ServiceName,
  listener: 'port' | 'internalPort',
): LinkReplica[] {
  return [ports.services[service], ...ports.replicas[service]].map((replica) => ({
    port: replica[listener],
    internalPort: replica.internalPort,
  }));
}

/** Opens every link, and returns the port by which a service reaches another part. */
export async function openLinks(links: StackLink[], openLink: OpenLink): Promise<PortOf> {
  const opened = await Promise.all(
    links.map(async (link) => [`${link.from} ${link.port}`, await openLink(link)] as const),
  );
  const portsByLink = new Map(opened);
  return (from, port) => portsByLink.get(`${from} ${port}`) ?? port;
}
