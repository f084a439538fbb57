import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Agent, type Dispatcher, request } from 'undici';
import { z } from 'zod';
import { CLUSTER_PAGE_SIZE, CLUSTER_TIMEOUT_MS, MAX_ADDRESSES, MAX_CLUSTER_PAGES } from '../terms/limits.ts';
import { digestOf, type FoundAddress, toOrigin } from './engineEntries.ts';

const slicesSchema = z.object({
  metadata: z.object({ continue: z.string().optional() }).default({}),
  items: z.array(
    z.object({
      addressType: z.string(),
      ports: z.array(z.object({ name: z.string().nullish(), port: z.number().nullish() })).nullish(),
      endpoints: z
        .array(
          z.object({
            addresses: z.array(z.string()),
            conditions: z
              .object({
                ready: z.boolean().nullish(),
                serving: z.boolean().nullish(),
                terminating: z.boolean().nullish(),
              })
              .default({}),
            targetRef: z.object({ name: z.string() }).nullish(),
          }),
        )
        .nullish(),
    }),
  ),
});
type Slice = z.output<typeof slicesSchema>['items'][number];
type Endpoint = NonNullable<Slice['endpoints']>[number];

/** Address and credentials of the cluster's API. */
export interface KubernetesApi {
  url: string;
  /** Folder of the service account's `token` and `ca.crt`, which the cluster replaces from time to time. */
  accountDir: string;
}

/** Lists the endpoints of a service of the cluster. */
export interface EndpointLister {
  /** Rejects if the API does not answer correctly within 3 s. */
  list(entry: { namespace: string; service: string; port: string }): Promise<FoundAddress[]>;
  close(): Promise<void>;
}

/**
 * Creates a lister that reads all EndpointSlices of a service each time, because a list cannot miss a change, unlike a
 * watch.
 */
export function createEndpointLister({ url, accountDir }: KubernetesApi): EndpointLister {
  let trusted: { ca: string; agent: Agent } | undefined;

  /** Returns an agent that trusts the cluster's current authority. */
  async function connect(): Promise<Dispatcher> {
    const ca = url.startsWith('https:') ? await readFile(join(accountDir, 'ca.crt'), 'utf8') : '';
    if (trusted?.ca === ca) return trusted.agent;
    // No await between check and replacement, so that concurrent lists create one agent.
    void trusted?.agent.destroy();
    const agent = new Agent({ connect: { timeout: CLUSTER_TIMEOUT_MS, ...(ca !== '' && { ca }) } });
    trusted = { ca, agent };
    return agent;
  }

  async function readPage(path: string, signal: AbortSignal) {
    const token = await readFile(join(accountDir, 'token'), 'utf8');
    const { statusCode, body } = await request(`${url}${path}`, {
      dispatcher: await connect(),
      headers: { authorization: `Bearer ${token.trim()}`, accept: 'application/json' },
      signal,
    });
    const text = await body.text();
    if (statusCode !== 200) throw new Error(`the Kubernetes API answered ${statusCode}`);
    return slicesSchema.parse(JSON.parse(text));
  }

  return {
    async list({ namespace, service, port }) {
      const signal = AbortSignal.timeout(CLUSTER_TIMEOUT_MS);
      const found = new Map<string, FoundAddress>();
      let next: string | undefined = '';
      for (let page = 0; next !== undefined && page < MAX_CLUSTER_PAGES; page += 1) {
        const query = new URLSearchParams({
          labelSelector: `kubernetes.io/service-name=${service}`,
          limit: String(CLUSTER_PAGE_SIZE),
          ...(next !== '' && { continue: next }),
        });
        const path = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices?${query}`;
        const { items, metadata } = await readPage(path, signal);
        for (const address of items.flatMap((slice) => toAddresses(slice, port))) keep(found, address);
        next = metadata.continue || undefined;
      }
      return [...found.values()].slice(0, MAX_ADDRESSES);
    },
    async close() {
      await trusted?.agent.destroy();
    },
  };
}

/** Keeps an address. An endpoint may be in two slices while it moves, and be ready in only one of them. */
function keep(found: Map<string, FoundAddress>, address: FoundAddress): void {
  const known = found.get(address.origin);
  if (!known || known.isDraining) found.set(address.origin, address);
}

function toAddresses({ addressType, ports, endpoints }: Slice, port: string): FoundAddress[] {
  if (addressType !== 'IPv4' && addressType !== 'IPv6') return [];
  const number = /^\d+$/.test(port) ? Number(port) : ports?.find(({ name }) => name === port)?.port;
  if (number === undefined || number === null) return [];
  return (endpoints ?? []).flatMap((endpoint) => {
    const isDraining = endpoint.conditions.terminating === true;
    const [address] = endpoint.addresses;
    if (address === undefined || (!isDraining && !isReady(endpoint))) return [];
    return [{ name: endpoint.targetRef?.name ?? digestOf(address), origin: toOrigin(address, number), isDraining }];
  });
}

/** A missing value means ready, by the cluster's API. */
const isReady = ({ conditions: { ready, serving } }: Endpoint): boolean => (ready ?? true) && (serving ?? true);
