import type { EngineConnection, EngineReport } from '../terms/dialect.ts';
import { askEngine } from './askEngine.ts';
import { parseMetrics, type Sample } from './parseMetrics.ts';

/** Each metric by every name it has had, the newest first. */
const NAMES = {
  running: ['vllm:num_requests_running'],
  waiting: ['vllm:num_requests_waiting'],
  cacheUsage: ['vllm:kv_cache_usage_perc', 'vllm:gpu_cache_usage_perc'],
  prefixQueries: ['vllm:prefix_cache_queries_total', 'vllm:gpu_prefix_cache_queries_total'],
  prefixHits: ['vllm:prefix_cache_hits_total', 'vllm:gpu_prefix_cache_hits_total'],
  cacheConfig: ['vllm:cache_config_info'],
  sleep: ['vllm:engine_sleep_state'],
};
/** The most that is read of a metrics page. */
const MAX_BYTES = 4_194_304;
const WANTED = new Set(Object.values(NAMES).flat());

/** Reads an engine's load from its metrics. Rejects if it does not answer. */
export async function readReport(engine: EngineConnection, signal: AbortSignal): Promise<EngineReport | undefined> {
  const { status, bytes } = await askEngine(engine, { path: '/metrics', maxBytes: MAX_BYTES, signal });
  return status === 200 ? parseReport(bytes.toString('utf8'), performance.now()) : undefined;
}

/** Reads a metrics page of any vLLM release. An engine may have several ranks: counts are summed, usage is the fullest's. */
export function parseReport(page: string, atMs: number): EngineReport {
  const samples = parseMetrics(page, (name) => WANTED.has(name));
  const find = (names: readonly string[]): Sample[] =>
    names.map((name) => samples.filter((sample) => sample.name === name)).find((found) => found.length > 0) ?? [];
  const sum = (names: readonly string[], measure = ({ value }: Sample): number => value): number | undefined => {
    const values = find(names).map(measure);
    return values.length === 0 ? undefined : values.reduce((total, value) => total + value, 0);
  };
  const usages = find(NAMES.cacheUsage).map(({ value }) => value);
  const cacheTokens = sum(NAMES.cacheConfig, cacheTokensOf);
  return {
    atMs,
    running: sum(NAMES.running),
    waiting: sum(NAMES.waiting),
    cacheUsage: usages.length === 0 ? undefined : Math.max(...usages),
    cacheTokens: cacheTokens !== undefined && cacheTokens > 0 ? cacheTokens : undefined,
    prefixQueries: sum(NAMES.prefixQueries),
    prefixHits: sum(NAMES.prefixHits),
    isAsleep: find(NAMES.sleep).some(saysAsleep),
  };
}

/**
 * Returns whether a sample shows sleep. Each state has a sample, with 1 for the current one; `awake` is one of the
 * states.
 */
const saysAsleep = ({ labels, value }: Sample): boolean => labels.get('sleep_state') !== 'awake' && value > 0;

/** Returns the cache capacity from labels, 0 if they lack it. Layers of several kinds share the blocks of a model. */
function cacheTokensOf({ labels }: Sample): number {
  const stated = Number(labels.get('kv_cache_size_tokens'));
  const tokens = stated > 0 ? stated : Number(labels.get('num_gpu_blocks')) * Number(labels.get('block_size'));
  return Number.isFinite(tokens) ? tokens : 0;
}
