import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { repositoryRoot } from './repositoryRoot.ts';

/** One metric of `GET /metrics`. */
export interface Metric {
  name: string;
  kind: 'counter' | 'histogram' | 'gauge';
  description: string;
}

const SOURCES = '{libs,services}/*/src/**/*.ts';
const NO_SOURCES = ['**/node_modules/**', '**/generated/**', '**/*.test.ts'];
const NAME = /'(?:turnpike|process)_\w+(?:_total|_seconds|_bytes|_calls|_records)'/g;
/** A name with the description that follows it: as the next argument, or as `description` of the options. */
const INSTRUMENT = /'((?:turnpike|process)_\w+)',\s*(?:\{?\s*description:\s*)?'((?:[^'\\]|\\.)*)'/g;
/** The function that makes an instrument says its kind: `createCounter`, `gauge`. */
const KIND = /(counter|histogram|gauge)/gi;

/** Every metric whose instrument the fleet's sources make, by name. Throws on a name that nothing explains. */
export async function readMetrics(): Promise<Metric[]> {
  const files = await Array.fromAsync(glob(SOURCES, { cwd: repositoryRoot, exclude: NO_SOURCES }));
  const texts = await Promise.all(files.map(async (file) => ({ file, text: await readSource(file) })));
  return texts.flatMap(({ file, text }) => findMetrics(file, text)).sort((a, b) => (a.name < b.name ? -1 : 1));
}

const readSource = (file: string): Promise<string> => readFile(join(repositoryRoot, file), 'utf8');

function findMetrics(file: string, text: string): Metric[] {
  const metrics = Array.from(text.matchAll(INSTRUMENT), ({ index, 1: name = '', 2: description = '' }) => ({
    name,
    kind: text.slice(0, index).match(KIND)?.at(-1)?.toLowerCase() as Metric['kind'],
    description: description.replaceAll("\\'", "'"),
  }));
  const known = new Set(metrics.map(({ name }) => `'${name}'`));
  const unexplained = text.match(NAME)?.find((quoted) => !known.has(quoted));
  if (unexplained !== undefined)
    throw new Error(`${file}: the metric ${unexplained} has no description beside its name`);
  return metrics;
}
