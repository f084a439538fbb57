import { expect, it } from '@jest/globals';
import { createLogger } from '@turnpike/logging/createLogger';
import { readMetrics } from '@turnpike/test-support/readMetrics';
import { createInferenceMetrics } from './inferenceMetrics.ts';
import { startTelemetry } from './startTelemetry.ts';

const log = createLogger({ service: 'test', level: 'silent' });
const start = () =>
  startTelemetry({ service: 'model-router', scope: 'us', otlpEndpoint: undefined, traceSampleRatio: 0, log });

it('tells Prometheus of the process, in its text format', async () => {
  const samples = await readMetrics(start());
  expect(samples.get('target_info{service_namespace="turnpike",service_name="model-router",cloud_region="us"}')).toBe(
    1,
  );
  expect(samples.get('process_resident_memory_bytes')).toBeGreaterThan(10_000_000);
  expect(samples.get('process_cpu_seconds_total')).toBeGreaterThan(0);
  expect(samples.get('turnpike_event_loop_busy_seconds_total')).toBeGreaterThan(0);
  expect(samples.get('turnpike_event_loop_late_seconds')).toBeGreaterThanOrEqual(0);
});

it('counts calls, tokens and waits of inference', async () => {
  const telemetry = start();
  const metrics = createInferenceMetrics(telemetry.meter);
  const model = { id: 'org/small-chat' };
  metrics.admitted(0.0007);
  metrics.firstToken(model, 0.04);
  metrics.callEnded({
    canonicalModel: 'org/small-chat',
    status: 'success',
    isStream: true,
    promptTokens: 120,
    cachedPromptTokens: 100,
    completionTokens: 30,
    billingUnit: 'token',
    chargeNanoUsd: 2_500_000n,
    startedAtMs: 1_000,
    endedAtMs: 3_000,
  });
  metrics.callEnded({
    canonicalModel: 'small-ear',
    status: 'success',
    isStream: false,
    promptTokens: 0,
    cachedPromptTokens: 0,
    completionTokens: 0,
    billingUnit: 'minute',
    units: 61,
    chargeNanoUsd: 0n,
    startedAtMs: 1_000,
    endedAtMs: 1_500,
  });
  metrics.callPlaced({ id: 'engine-1' }, 'match');
  metrics.engineFirstEvent({ id: 'engine-1' }, 0.03);
  metrics.cacheCounted(model, { expectedPart: 0.25, countedPart: 0.5 });
  metrics.cacheCounted(model, { expectedPart: 0.5, countedPart: 0 });
  metrics.streamEnded(model, 60);
  metrics.callRetried(model);
  metrics.engineEjected({ id: 'engine-1' }, 'refused');
  metrics.engineProbed({ id: 'engine-1' }, 'token');
  metrics.observeFleet({
    engines: () => [{ id: 'engine-1', health: { breaker: 'half_open' }, load: { tokensInFlight: 8 } }],
    retriesLeft: () => 7,
    routersHeard: () => 2,
  });
  metrics.queued(model, 0.3);
  metrics.shed(model, 'key_share');
  metrics.observeQueue(() => [{ model: 'org/small-chat', calls: 5 }]);
  metrics.holdSwept();
  metrics.observe({
    isOpen: () => true,
    openCalls: () => 3,
    spoolBytes: () => 4_096,
    spoolWaitingBytes: () => 1_024,
    isSpoolHung: () => true,
    isSpoolRefused: () => false,
    spoolLimitBytes: 65_536,
    redisMemoryShare: () => 0.5,
  });

  const samples = await readMetrics(telemetry);
  const wanted = {
    turnpike_router_admits: 1,
    'turnpike_admit_seconds_bucket{le="0.0005"}': 0,
    'turnpike_admit_seconds_bucket{le="0.001"}': 1,
    'turnpike_time_to_first_token_seconds_bucket{model="org/small-chat",le="0.02"}': 0,
    'turnpike_time_to_first_token_seconds_bucket{model="org/small-chat",le="0.05"}': 1,
    'turnpike_calls_total{model="org/small-chat",status="success",stream="true"}': 1,
    'turnpike_call_duration_seconds_sum{model="org/small-chat"}': 2,
    'turnpike_tokens_total{model="org/small-chat",kind="prompt"}': 120,
    'turnpike_tokens_total{model="org/small-chat",kind="cached_prompt"}': 100,
    'turnpike_tokens_total{model="org/small-chat",kind="completion"}': 30,
    'turnpike_calls_total{model="small-ear",status="success",stream="false"}': 1,
    'turnpike_charged_usd_total{model="org/small-chat"}': 0.0025,
    'turnpike_units_total{model="small-ear",unit="minute"}': 61,
    'turnpike_tokens_total{model="small-ear",kind="prompt"}': undefined,
    'turnpike_placements_total{engine="engine-1",reason="match"}': 1,
    'turnpike_engine_first_event_seconds_bucket{engine="engine-1",le="0.05"}': 1,
    'turnpike_cache_estimate_error_ratio_sum{model="org/small-chat",direction="under"}': 0.25,
    'turnpike_cache_estimate_error_ratio_sum{model="org/small-chat",direction="over"}': 0.5,
    'turnpike_cache_estimate_error_ratio_count{model="org/small-chat",direction="under"}': 1,
    'turnpike_output_tokens_per_second_bucket{model="org/small-chat",le="50"}': 0,
    'turnpike_output_tokens_per_second_bucket{model="org/small-chat",le="75"}': 1,
    'turnpike_engine_tokens_in_flight{engine="engine-1"}': 8,
    'turnpike_engine_retries_total{model="org/small-chat"}': 1,
    'turnpike_queue_seconds_sum{model="org/small-chat"}': 0.3,
    'turnpike_sheds_total{model="org/small-chat",reason="key_share"}': 1,
    'turnpike_queued_calls{model="org/small-chat"}': 5,
    'turnpike_engine_ejections_total{engine="engine-1",reason="refused"}': 1,
    'turnpike_engine_probes_total{engine="engine-1",result="token"}': 1,
    'turnpike_engine_breaker{engine="engine-1"}': 1,
    turnpike_engine_retries_left: 7,
    turnpike_routers_heard: 2,
    turnpike_swept_holds_total: 1,
    turnpike_open_calls: 3,
    turnpike_spool_bytes: 4_096,
    turnpike_spool_waiting_bytes: 1_024,
    turnpike_spool_hung: 1,
    turnpike_spool_limit_bytes: 65_536,
    turnpike_redis_memory_ratio: 0.5,
  };
  expect(Object.fromEntries(Object.keys(wanted).map((name) => [name, samples.get(name)]))).toEqual(wanted);
});

it('tells of engines for as long as they are there', async () => {
  const telemetry = start();
  const toEngine = (id: string, breaker: 'closed' | 'half_open' | 'open') => ({
    ...{ id, health: { breaker } },
    load: { tokensInFlight: 8 },
  });
  let engines = [toEngine('gone', 'open'), toEngine('stays', 'closed')];
  createInferenceMetrics(telemetry.meter).observeFleet({
    engines: () => engines,
    retriesLeft: () => 7,
    routersHeard: () => 2,
  });
  const readFleet = async () =>
    [...(await readMetrics(telemetry))].filter(([name]) => /^turnpike_engine_(breaker|tokens)/.test(name));
  expect(await readFleet()).toHaveLength(4);

  engines = [toEngine('stays', 'half_open')];
  for (let scrape = 0; scrape < 2; scrape += 1)
    expect(await readFleet()).toEqual([
      ['turnpike_engine_breaker{engine="stays"}', 1],
      ['turnpike_engine_tokens_in_flight{engine="stays"}', 8],
    ]);
  engines.push(toEngine('gone', 'closed'));
  expect(new Map(await readFleet()).get('turnpike_engine_breaker{engine="gone"}')).toBe(0);
});

it('bounds the label sets of an instrument, whatever is counted', async () => {
  const telemetry = start();
  const metrics = createInferenceMetrics(telemetry.meter);
  for (let i = 0; i < 5_000; i += 1) metrics.callRetried({ id: `model-${i}` });

  const names = [...(await readMetrics(telemetry)).keys()];
  expect(names.filter((name) => name.startsWith('turnpike_engine_retries_total')).length).toBeLessThanOrEqual(1_000);
});
