import type { Engine } from '../engine/engine.ts';
import { BLOCK_TOKENS } from '../engine/prefixCache.ts';
import type { Knobs } from '../knobs.ts';

/** What older releases called their metrics. */
const OLD_NAMES = new Map([
  ['vllm:kv_cache_usage_perc', 'vllm:gpu_cache_usage_perc'],
  ['vllm:prefix_cache_queries', 'vllm:gpu_prefix_cache_queries'],
  ['vllm:prefix_cache_hits', 'vllm:gpu_prefix_cache_hits'],
  ['vllm:inter_token_latency_seconds', 'vllm:time_per_output_token_seconds'],
]);
/** What older releases did not have. */
const NEW_METRICS = ['vllm:num_requests_waiting_by_reason', 'vllm:admission_rejections', 'vllm:engine_sleep_state'];

/** A metric and its lines under the name it is given. */
interface Family {
  name: string;
  type: 'gauge' | 'counter' | 'histogram';
  lines: (name: string) => string;
}

/** One engine's metrics under vLLM's names and labels, in the generation its knobs name, less those they leave out. */
export function toMetricsText(engine: Engine): string {
  const { metricGeneration, missingMetrics } = engine.knobs;
  return familiesOf(engine)
    .filter(({ name }) => metricGeneration === 'new' || !NEW_METRICS.includes(name))
    .map((family) => ({ ...family, name: nameIn(metricGeneration, family.name) }))
    .filter(({ name, type }) => !missingMetrics.includes(type === 'counter' ? `${name}_total` : name))
    .map(({ name, type, lines }) => `# TYPE ${type === 'counter' ? `${name}_total` : name} ${type}\n${lines(name)}`)
    .join('');
}

const nameIn = (generation: Knobs['metricGeneration'], name: string): string =>
  generation === 'old' ? (OLD_NAMES.get(name) ?? name) : name;

function familiesOf({ metrics, config, gauges, isSleeping }: Engine): Family[] {
  const modelLabel = `model_name="${escapeLabel(config.servedModelName)}"`;
  const labels = `engine="0",${modelLabel}`;
  const gauge = (name: string, value: number): Family => ({
    name,
    type: 'gauge',
    lines: (as) => `${as}{${labels}} ${value}\n`,
  });
  const counter = (name: string, value: number): Family => ({
    name,
    type: 'counter',
    lines: (as) => `${as}_total{${labels}} ${value}\n`,
  });
  const { runningCount, waitingCount, kvCacheUsage, runningAdapters, waitingAdapters, unixSeconds } = gauges;
  const cacheLabels = `,block_size="${BLOCK_TOKENS}",num_gpu_blocks="${config.numKvBlocks}",kv_cache_size_tokens="${config.numKvBlocks * BLOCK_TOKENS}",enable_prefix_caching="True"`;
  const adapterLabels = `max_lora="${config.maxLoras}",running_lora_adapters="${escapeLabel(runningAdapters)}",waiting_lora_adapters="${escapeLabel(waitingAdapters)}"`;
  const lora: Family = {
    name: 'vllm:lora_requests_info',
    type: 'gauge',
    lines: (as) => `${as}{${adapterLabels}} ${unixSeconds}\n`,
  };
  return [
    gauge('vllm:num_requests_running', runningCount),
    gauge('vllm:num_requests_waiting', waitingCount),
    {
      name: 'vllm:num_requests_waiting_by_reason',
      type: 'gauge',
      lines: (as) => `${as}{${labels},reason="capacity"} ${waitingCount}\n${as}{${labels},reason="deferred"} 0\n`,
    },
    gauge('vllm:kv_cache_usage_perc', kvCacheUsage),
    { name: 'vllm:cache_config_info', type: 'gauge', lines: (as) => `${as}{engine="0"${cacheLabels}} 1\n` },
    { name: 'vllm:engine_sleep_state', type: 'gauge', lines: (as) => sleepStateLines(as, labels, isSleeping) },
    ...(config.loraModules.length > 0 || config.allowRuntimeLoraUpdating ? [lora] : []),
    counter('vllm:prefix_cache_queries', metrics.prefixCacheQueries),
    counter('vllm:prefix_cache_hits', metrics.prefixCacheHits),
    counter('vllm:prompt_tokens', metrics.promptTokens),
    counter('vllm:generation_tokens', metrics.generationTokens),
    counter('vllm:num_preemptions', metrics.preemptions),
    {
      name: 'vllm:admission_rejections',
      type: 'counter',
      lines: (as) =>
        [
          `${as}_total{${modelLabel},reason="max_num_queued_reqs"} ${metrics.admissionRejections}\n`,
          `${as}_total{${modelLabel},reason="max_num_queued_tokens"} 0\n`,
        ].join(''),
    },
    {
      name: 'vllm:request_success',
      type: 'counter',
      lines: (as) =>
        Object.entries(metrics.finished)
          .map(([reason, count]) => `${as}_total{${labels},finished_reason="${reason}"} ${count}\n`)
          .join(''),
    },
    ...Object.entries(metrics.histograms).map(
      ([name, histogram]): Family => ({ name, type: 'histogram', lines: (as) => histogram.render(as, labels) }),
    ),
  ];
}

/** One line for each state there is; 1 marks the one that the engine is in. */
const sleepStateLines = (as: string, labels: string, isSleeping: boolean): string =>
  [
    ['awake', !isSleeping],
    ['weights_offloaded', isSleeping],
    ['discard_all', false],
  ]
    .map(([state, isIn]) => `${as}{${labels},sleep_state="${state}"} ${isIn ? 1 : 0}\n`)
    .join('');

const escapeLabel = (value: string): string =>
  value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
