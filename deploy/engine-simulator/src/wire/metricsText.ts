import type { Engine } from '../engine/engine.ts';
import { BLOCK_TOKENS } from '../engine/prefixCache.ts';

/** Formats the counters of an engine under vLLM's names and labels. Only those with a meaning here are included. */
export function toMetricsText(engine: Engine): string {
  const { metrics, config, runningCount, waitingCount, kvCacheUsage, isAsleep } = engine;
  const cacheTokens = config.numKvBlocks * BLOCK_TOKENS;
  const model = { model_name: config.servedModelName };
  const labels = { engine: '0', ...model };
  const family = (name: string, type: 'gauge' | 'counter', ...samples: [object, number][]): string =>
    [
      `# TYPE vllm:${name} ${type}\n`,
      ...samples.map(([more, value]) => `vllm:${name}{${toLabels({ ...labels, ...more })}} ${value}\n`),
    ].join('');
  return [
    family('num_requests_running', 'gauge', [{}, runningCount]),
    family('num_requests_waiting', 'gauge', [{}, waitingCount]),
    family(
      'num_requests_waiting_by_reason',
      'gauge',
      [{ reason: 'capacity' }, waitingCount],
      [{ reason: 'deferred' }, 0],
    ),
    family('kv_cache_usage_perc', 'gauge', [{}, kvCacheUsage]),
    family('cache_config_info', 'gauge', [
      {
        model_name: undefined,
        block_size: BLOCK_TOKENS,
        num_gpu_blocks: config.numKvBlocks,
        kv_cache_size_tokens: cacheTokens,
        enable_prefix_caching: 'True',
      },
      1,
    ]),
    family(
      'engine_sleep_state',
      'gauge',
      [{ sleep_state: 'awake' }, isAsleep ? 0 : 1],
      [{ sleep_state: 'weights_offloaded' }, isAsleep ? 1 : 0],
      [{ sleep_state: 'discard_all' }, 0],
    ),
    family('prefix_cache_queries_total', 'counter', [{}, metrics.prefixCacheQueries]),
    family('prefix_cache_hits_total', 'counter', [{}, metrics.prefixCacheHits]),
    family('prompt_tokens_total', 'counter', [{}, metrics.promptTokens]),
    family('generation_tokens_total', 'counter', [{}, metrics.generationTokens]),
    family('num_preemptions_total', 'counter', [{}, metrics.preemptions]),
    family(
      'admission_rejections_total',
      'counter',
      [{ engine: undefined, reason: 'max_num_queued_reqs' }, metrics.admissionRejections],
      [{ engine: undefined, reason: 'max_num_queued_tokens' }, 0],
    ),
    family(
      'request_success_total',
      'counter',
      ...Object.entries(metrics.finished).map(([reason, count]): [object, number] => [
        { finished_reason: reason },
        count,
      ]),
    ),
  ].join('');
}

const toLabels = (labels: object): string =>
  Object.entries(labels)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}="${escapeLabel(String(value))}"`)
    .join(',');

const escapeLabel = (value: string): string =>
  value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
