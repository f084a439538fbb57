import { z } from 'zod';

/** Longer than a readiness check waits for what is silent, and short enough that who asks has an answer within 5 s. */
export const LOOK_TIMEOUT_MS = 4_000;
const BUILD = /^turnpike_build_info\{(.*)\} 1$/m;
const SAMPLE = /^(\w+)(?:\{.*\})? (\S+)$/;

const saidSchema = z.object({
  status: z.string(),
  missing: z.array(z.string()).default([]),
  since: z.string().optional(),
  warnings: z.array(z.string()).default([]),
});

/** How a service is by its own word, from its open routes. */
export interface Health {
  /** `ending`: it was told to stop. `not_named`: the environment does not say where it is. */
  state: 'ready' | 'not_ready' | 'ending' | 'no_answer' | 'not_named';
  /** Dependencies that it requires and does not have. */
  missing: string[];
  /** Since when it has known that it is not ready. */
  since?: string | undefined;
  /** Sentences of the service about what an operator has to look at. */
  warnings: string[];
  /** Why there is no answer; undefined where there is one. */
  silence?: string;
  /** The version and the commit of its program; null if it does not say. */
  build: string | null;
  /** Metrics by name, each the sum over its labels. Empty if the service does not answer. */
  metrics: ReadonlyMap<string, number>;
}

/** Asks a service whether it is ready and what it measures. Never rejects. */
export async function readHealth(internalUrl: string | undefined): Promise<Health> {
  const nothing = { missing: [], warnings: [] };
  if (internalUrl === undefined) return { state: 'not_named', ...nothing, build: null, metrics: new Map() };
  const read = async (path: string) => {
    const answer = await fetch(internalUrl + path, {
      redirect: 'manual',
      signal: AbortSignal.timeout(LOOK_TIMEOUT_MS),
    });
    return { status: answer.status, text: await answer.text() };
  };
  const [readiness, page] = await Promise.allSettled([read('/ready'), read('/metrics')]);
  const measured = page.status === 'fulfilled' && page.value.status === 200 ? page.value.text : '';
  const ofMetrics = { build: toBuild(measured), metrics: sumSamples(measured) };
  if (readiness.status === 'rejected')
    return { state: 'no_answer', ...nothing, silence: toSilence(readiness.reason), ...ofMetrics };
  const said = saidSchema.safeParse(parseJson(readiness.value.text)).data;
  const { missing, warnings } = said ?? nothing;
  if (readiness.value.status === 200) return { state: 'ready', missing, warnings, ...ofMetrics };
  const state = said?.status === 'ending' ? 'ending' : 'not_ready';
  return { state, missing, since: said?.since, warnings, ...ofMetrics };
}

/** Returns `1.4.0 3be89760d1ab` from the text format of Prometheus. */
function toBuild(page: string): string | null {
  const [, labels = ''] = BUILD.exec(page) ?? [];
  const [, version] = /version="([^"]*)"/.exec(labels) ?? [];
  const [, revision = ''] = /revision="([^"]*)"/.exec(labels) ?? [];
  return version === undefined ? null : `${version} ${revision.slice(0, 12)}`.trimEnd();
}

/** Returns why a call got no answer: nothing there accepts connections, or what does is silent. */
export function toSilence(error: unknown): string {
  if (error instanceof DOMException && error.name === 'TimeoutError') return `silent for ${LOOK_TIMEOUT_MS / 1_000} s`;
  const code = ((error as Error | undefined)?.cause as NodeJS.ErrnoException | undefined)?.code;
  return code === 'ECONNREFUSED' ? 'nothing listens there' : `the connection fails${code ? ` (${code})` : ''}`;
}

/** From the text format of Prometheus. */
function sumSamples(page: string): Map<string, number> {
  const sums = new Map<string, number>();
  for (const line of page.split('\n')) {
    const [, name, value] = SAMPLE.exec(line) ?? [];
    if (name !== undefined) sums.set(name, (sums.get(name) ?? 0) + Number(value));
  }
  return sums;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
