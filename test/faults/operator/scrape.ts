import { SERVICE_NAMES, type ServiceName } from '@turnpike/config/services';
import type { FaultStack } from '../stack/startFaultStack.ts';

const TIMEOUT_MS = 4_000;
const SAMPLE = /^(\w+)(?:\{(.*)\})? (\S+)$/;

/** All metrics of a stack as Prometheus labels them, by their series, and `up` of each service. */
export interface Scrape {
  at: number;
  values: ReadonlyMap<string, number>;
}

export async function scrape({ description }: Pick<FaultStack, 'description'>): Promise<Scrape> {
  const { regions, services } = description;
  const all = { ...regions.us.services, ...services };
  const at = performance.now();
  const pages = await Promise.all(
    SERVICE_NAMES.map(async (name) => listSamples(name, await readPage(`${all[name].internal_url}/metrics`))),
  );
  return { at, values: new Map(pages.flat()) };
}

async function readPage(url: string): Promise<string | undefined> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    return answer.status === 200 ? await answer.text() : undefined;
  } catch {
    return undefined;
  }
}

function listSamples(job: ServiceName, page: string | undefined): [series: string, value: number][] {
  const own = `job="${job}", instance="${job}-1"`;
  const samples = (page ?? '').split('\n').flatMap((line): [string, number][] => {
    const [, name, labels, value] = SAMPLE.exec(line) ?? [];
    return name === undefined ? [] : [[`${name}{${own}${labels ? `, ${labels}` : ''}}`, Number(value)]];
  });
  return [[`up{${own}}`, page === undefined ? 0 : 1], ...samples];
}
