import { expect, it } from '@jest/globals';
import { parseReport } from './readReport.ts';

const page = (prefix: string, hits: string, labels = 'engine="0",model_name="a, \\"b\\" {c}"') => `
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{${labels}} 3.0
vllm:num_requests_waiting{${labels}} 2
vllm:${prefix}_cache_usage_perc{${labels}} 0.25
vllm:cache_config_info{block_size="16",num_gpu_blocks="100",${labels}} 1.0
vllm:${hits}_queries_total{${labels}} 1e3
vllm:${hits}_hits_total{${labels}} 250 1700000000000
vllm:time_to_first_token_seconds_bucket{le="0.1",${labels}} 7
`;
const load = {
  atMs: 7,
  running: 3,
  waiting: 2,
  cacheUsage: 0.25,
  cacheTokens: 1_600,
  prefixQueries: 1_000,
  prefixHits: 250,
  isAsleep: false,
};

it.each([
  ['old', page('gpu', 'gpu_prefix_cache')],
  ['new', page('kv', 'prefix_cache')],
])('reads the %s names of metrics', (_generation, text) => {
  expect(parseReport(text, 7)).toEqual(load);
});

it('sums the ranks of an engine, and takes the fullest', () => {
  const ranks = page('kv', 'prefix_cache') + page('kv', 'prefix_cache').replaceAll('0.25', '0.75');
  expect(parseReport(ranks, 7)).toMatchObject({ running: 6, cacheTokens: 3_200, cacheUsage: 0.75 });
});

it.each([
  ['so many', '1200', 1_200],
  ['none', 'None', 1_600],
])('takes the tokens that the engine says its cache holds, where it says %s', (_case, stated, cacheTokens) => {
  const stating = page('kv', 'prefix_cache').replace('block_size=', `kv_cache_size_tokens="${stated}",block_size=`);
  expect(parseReport(stating, 7)).toMatchObject({ cacheTokens });
});

it.each([
  ['awake', false],
  ['weights_offloaded', true],
  ['discard_all', true],
])('takes an engine whose sleep state is %s for asleep: %s', (state, isAsleep) => {
  const lines = ['awake', 'weights_offloaded', 'discard_all'].map(
    (name) => `vllm:engine_sleep_state{engine="0",sleep_state="${name}"} ${name === state ? '1.0' : '0.0'}\n`,
  );
  expect(parseReport(lines.join(''), 7)).toMatchObject({ isAsleep });
});

it('says of what is missing or unreadable that it is not known, not that it is nothing', () => {
  expect(parseReport('<html>\nvllm:num_requests_running{engine="0"} many\n', 7)).toEqual({
    ...Object.fromEntries(Object.keys(load).map((name) => [name, undefined])),
    atMs: 7,
    isAsleep: false,
  });
});
