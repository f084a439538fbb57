import { createHash } from 'node:crypto';
import { z } from 'zod';
import { MAX_ENTRIES } from '../terms/limits.ts';

const label = z.string().min(1).max(96);
/** Part of usage rows and metrics, so it has no blanks. */
const id = z.string().regex(/^[A-Za-z0-9._:/@-]{1,96}$/, 'must be letters, digits and . _ : / @ -');

/** The address of an entry's engines: one address, or a name with several. */
export type Discovery =
  | { kind: 'dns'; host: string; port: number }
  /** `port` is a number, or the name of one of the service's ports. */
  | { kind: 'k8s'; namespace: string; service: string; port: string };

const url = z
  .url({ protocol: /^https?$/, error: 'must be an address, as in http://10.0.0.7:8000' })
  .transform((text) => new URL(text).origin);

const discover = z.string().transform((text, context): Discovery => {
  const [, host, dnsPort] = /^dns:\/\/([A-Za-z0-9._-]{1,253}):(\d{1,5})$/.exec(text) ?? [];
  if (host !== undefined) return { kind: 'dns', host, port: Number(dnsPort) };
  const [, namespace, service, port] =
    /^k8s:\/\/([a-z0-9-]{1,63})\/([a-z0-9-]{1,63}):([a-z0-9-]{1,15})$/.exec(text) ?? [];
  if (namespace !== undefined && service !== undefined && port !== undefined)
    return { kind: 'k8s', namespace, service, port };
  context.addIssue({ code: 'custom', message: 'must be dns://host:port or k8s://namespace/service:port' });
  return z.NEVER;
});

const of = (description: string) => ({ description });

/** An entry of the engines file. Each field's description is in docs/catalog-file.md. */
const entrySchema = z
  .strictObject({
    id: id
      .optional()
      .meta(of('Routing target, which usage rows name as `model`. Made from the address if it is left out.')),
    url: url.optional().meta(of('Address of one engine. Either this or `discover`.')),
    discover: discover
      .optional()
      .meta(of('A name for several engines: `dns://host:port`, or `k8s://namespace/service:port` inside a cluster.')),
    model: label
      .optional()
      .meta(of('Catalog id of the model. Without it an engine is known for a model once it has answered.')),
    weight: z
      .number()
      .positive()
      .max(1_000)
      .default(1)
      .meta(of('Capacity beside the other engines of the model: 2 takes twice the load of 1.')),
    hardware: label.optional().meta(of('For operators.')),
    quantization: label.optional().meta(of('For operators.')),
    version: label.optional().meta(of('For operators, until the engine reports its version.')),
    draining: z.boolean().default(false).meta(of('Takes nothing new and finishes what it has.')),
  })
  .refine((entry) => (entry.url === undefined) !== (entry.discover === undefined), 'must have either url or discover')
  .transform((entry) => ({ ...entry, id: entry.id ?? nameOf(entry) }));

const nameOf = ({ url, discover }: { url?: string | undefined; discover?: Discovery | undefined }): string =>
  `engine-${digestOf(url ?? JSON.stringify(discover))}`;

/** Names an address without telling it, and alike on every router. */
export const digestOf = (address: string): string => createHash('sha256').update(address).digest('hex').slice(0, 8);

/**
 * Describes why so few targets may not take the place of so many: fewer than half, or none. Such a file is more often a wrong merge
 * than a wish. Returns undefined for any other.
 */
export const describeLoss = (latest: number, before: number): string | undefined =>
  latest * 2 < before ? `leaves ${latest} of ${before} targets; "force": true in the file takes them away` : undefined;

/** One entry of the engines file: a routing target and where its engines are. */
export type EngineEntry = z.output<typeof entrySchema>;

/** The entries of what an engines file holds. */
export const engineEntriesSchema = z
  .strictObject({
    engines: z
      .array(entrySchema)
      .max(MAX_ENTRIES)
      .refine((entries) => new Set(entries.map(({ id }) => id)).size === entries.length, 'an engine id stands twice'),
    /** Lets this file take away more than half of the targets. */
    force: z.boolean().optional(),
  })
  .transform(({ engines }) => engines);

/** One current address of an entry. */
export interface FoundAddress {
  /** Identifies the engine within its entry, equally on every router, without its address. */
  name: string;
  /** Scheme, host and port. */
  origin: string;
  /** Whether the engine takes no new call and finishes its own. */
  isDraining: boolean;
}

/** An origin of a bare IP address. */
export const toOrigin = (address: string, port: number): string =>
  `http://${address.includes(':') ? `[${address}]` : address}:${port}`;
