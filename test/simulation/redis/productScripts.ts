import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../../../services/model-router/src/', import.meta.url));
/** Changes nothing, and audits alone run it. */
const NOT_MODELLED = ['readCounters'];

/** The text of each script that the product runs in Redis, by its name, in the order of names. */
export const productScripts: ReadonlyMap<string, string> = new Map(
  globSync('**/*.lua', { cwd: folder })
    .map((file): [string, string] => [basename(file, '.lua'), readFileSync(`${folder}${file}`, 'utf8')])
    .filter(([name]) => !NOT_MODELLED.includes(name))
    .toSorted(([a], [b]) => (a < b ? -1 : 1)),
);
