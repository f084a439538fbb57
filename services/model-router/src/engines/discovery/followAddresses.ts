import { repeat } from '@turnpike/lifecycle/repeat';
import type { Logger } from '@turnpike/logging/createLogger';
import { ADDRESSES_ROUND_MS } from '../terms/limits.ts';
import type { EngineEntry, FoundAddress } from './engineEntries.ts';
import type { EndpointLister } from './listEndpoints.ts';
import { type NameServer, resolveDns } from './resolveDns.ts';

/** An engine that should be there. */
export interface ListedEngine {
  id: string;
  origin: string;
  entry: EngineEntry;
  isDraining: boolean;
}

/** Why the engines of a routing target cannot be listed while its last list stays in force. */
export interface TargetFault {
  target: string;
  reason: string;
  since: Date;
}

export interface Addresses {
  /** Returns every known engine of the entries. */
  list(): ListedEngine[];
  /** Targets whose engines cannot be listed. */
  listFaults(): TargetFault[];
  close(): Promise<void>;
}

/**
 * Keeps the addresses of entries with a DNS name or a service of the cluster, and reads them every 3 s. If a read
 * fails, the last good list stays in use. `onChange` is called after a change.
 */
export function followAddresses({
  entries,
  nameServer,
  endpoints,
  onChange,
  log,
}: {
  entries: () => readonly EngineEntry[];
  nameServer: NameServer;
  /** Undefined outside a cluster. */
  endpoints: EndpointLister | undefined;
  onChange: () => void;
  log: Logger;
}): Addresses {
  /** Found addresses by the entry's position, so that a changed entry begins anew. */
  const known = new Map<string, FoundAddress[]>();
  const failing = new Map<string, Omit<TargetFault, 'target'>>();

  async function refresh({ id, discover }: EngineEntry, signal: AbortSignal): Promise<void> {
    if (!discover) return;
    const place = JSON.stringify(discover);
    try {
      const found = await find(discover);
      if (failing.delete(place)) log.info({ target: id }, 'engines can be listed again');
      if (signal.aborted || JSON.stringify(found) === JSON.stringify(known.get(place))) return;
      known.set(place, found);
      log.info({ target: id, engines: found.length }, 'engines listed');
      onChange();
    } catch (error) {
      if (!failing.has(place))
        log.error({ err: error, target: id }, 'engines cannot be listed: the last list stays in force');
      const reason = error instanceof Error ? error.message : String(error);
      failing.set(place, { since: failing.get(place)?.since ?? new Date(), reason });
    }
  }

  function find(discover: NonNullable<EngineEntry['discover']>): Promise<FoundAddress[]> {
    if (discover.kind === 'dns') return resolveDns(nameServer, discover);
    if (!endpoints) throw new Error('k8s:// needs KUBERNETES_SERVICE_HOST, which is set inside a cluster');
    return endpoints.list(discover);
  }

  async function refreshAll(signal: AbortSignal): Promise<void> {
    await Promise.all(entries().map((entry) => refresh(entry, signal)));
    const places = new Set(entries().map(({ discover }) => JSON.stringify(discover)));
    for (const place of known.keys()) if (!places.has(place)) known.delete(place);
    for (const place of failing.keys()) if (!places.has(place)) failing.delete(place);
  }
  const refreshing = repeat(refreshAll, {
    pauseMs: ADDRESSES_ROUND_MS,
    log,
    failing: 'addresses of engines are not refreshed',
  });

  return {
    list: () =>
      entries().flatMap((entry): ListedEngine[] => {
        if (entry.url !== undefined) return [{ id: entry.id, origin: entry.url, entry, isDraining: entry.draining }];
        return (known.get(JSON.stringify(entry.discover)) ?? []).map(({ name, origin, isDraining }) => ({
          id: `${entry.id}/${name}`,
          origin,
          entry,
          isDraining: isDraining || entry.draining,
        }));
      }),
    listFaults: () =>
      entries().flatMap(({ id: target, discover }) => {
        const fault = failing.get(JSON.stringify(discover));
        return fault ? [{ target, ...fault }] : [];
      }),
    close: refreshing.close,
  };
}
