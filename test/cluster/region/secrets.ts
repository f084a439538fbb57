import { getJson } from '@turnpike/cluster/kubectl';
import { namespaceOf } from '@turnpike/cluster/paths';
import type { Region, Scope } from '@turnpike/config/region';
import { z } from 'zod';

const secretSchema = z.object({
  metadata: z.object({ name: z.string() }),
  data: z.record(z.string(), z.string()).default({}),
});
const decode = (value = ''): string => Buffer.from(value, 'base64').toString();

/** A value of a Secret of a region, or of the account layer, as it stands now; empty where there is none. */
export async function readSecret(scope: Scope, name: string, key: string): Promise<string> {
  return decode(secretSchema.parse(await getJson(['get', 'secret', name, '-n', namespaceOf(scope)])).data[key]);
}

/** All of them, by the name of a Secret and a key of it. */
export async function readEverySecret(region: Region): Promise<Map<string, string>> {
  const list = z
    .object({ items: z.array(secretSchema) })
    .parse(await getJson(['get', 'secrets', '-n', namespaceOf(region)]));
  return new Map(
    list.items.flatMap(({ metadata, data }) =>
      Object.entries(data).map(([key, value]) => [`${metadata.name} ${key}`, decode(value)] as const),
    ),
  );
}
