import { globSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readScript } from '@turnpike/holds/redis/askRedis';

const folder = fileURLToPath(new URL('../../../libs/holds/src/scripts/', import.meta.url));
/** The parts that others include, and what changes nothing and decides nothing of a call: an audit, and a look before an upload is read. */
const NOT_MODELLED = ['pending', 'limits', 'rates', 'readCounters', 'findShortage'];

/** The text of each script that the product runs in Redis, by its name, in the order of names. */
export const productScripts: ReadonlyMap<string, string> = new Map(
  globSync('*.lua', { cwd: folder })
    .map((file) => basename(file, '.lua'))
    .filter((name) => !NOT_MODELLED.includes(name))
    .toSorted()
    .map((name): [string, string] => [name, readScript(name)]),
);
