import type { TinyEngine } from '../inference/tinyEngine.ts';

/** The engine's metrics in Prometheus' text format, under vLLM's names and labels. */
export function toMetricsText({ slots, metrics }: TinyEngine, model: string): string {
  const labels = `engine="0",model_name="${model}"`;
  const gauge = (name: string, value: number) => `# TYPE ${name} gauge\n${name}{${labels}} ${value}\n`;
  const counter = (name: string, value: number) => `# TYPE ${name} counter\n${name}_total{${labels}} ${value}\n`;
  const finished = Object.entries(metrics.finished).map(
    ([reason, count]) => `vllm:request_success_total{${labels},finished_reason="${reason}"} ${count}\n`,
  );
  return [
    gauge('vllm:num_requests_running', slots.runningCount),
    gauge('vllm:num_requests_waiting', slots.waitingCount),
    gauge('vllm:kv_cache_usage_perc', slots.cacheUsage),
    counter('vllm:prefix_cache_queries', metrics.promptTokens),
    counter('vllm:prefix_cache_hits', metrics.prefixCacheHits),
    counter('vllm:prompt_tokens', metrics.promptTokens),
    counter('vllm:generation_tokens', metrics.generationTokens),
    '# TYPE vllm:request_success counter\n',
    ...finished,
  ].join('');
}
