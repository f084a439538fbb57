import { followFeed } from '@turnpike/feed/followFeed';
import { createRequestMetrics } from '@turnpike/http-service/observeRequests';
import { observeReadiness, observeWarnings } from '@turnpike/http-service/serviceApps';
import { createLogger } from '@turnpike/logging/createLogger';
import { createExchangeCounter } from '@turnpike/request-throttle/shareThrottles';
import { createInferenceMetrics } from '@turnpike/telemetry/inferenceMetrics';
import { createMediaMetrics } from '@turnpike/telemetry/mediaMetrics';
import { observeBuild } from '@turnpike/telemetry/processMetrics';
import { startTelemetry } from '@turnpike/telemetry/startTelemetry';
import { readMetrics } from '@turnpike/test-support/readMetrics';
import { compareWorkspaces } from '../../../services/auth/src/feed/compareWorkspaces.ts';
import { observeTopUps } from '../../../services/control-plane/src/billing/observeTopUps.ts';
import { Provider } from '../../../services/control-plane/src/identity/providers.ts';
import { watchProviders } from '../../../services/control-plane/src/identity/watchProviders.ts';
import { observeMails } from '../../../services/control-plane/src/mail/observeMails.ts';
import { observeRates } from '../../../services/control-plane/src/rates/observeRates.ts';
import { createRecordingTelemetry } from '../../../services/usage-ledger/src/consumers/recordingTelemetry.ts';
import { observeCredit } from '../../../services/usage-ledger/src/credits/observeCredit.ts';
import { reportDays } from '../../../services/usage-ledger/src/day-totals/reportDays.ts';
import {
  type ScheduleOptions,
  scheduleReconciliation,
} from '../../../services/usage-ledger/src/reconcile/scheduleReconciliation.ts';
import { observeRecovery } from '../../../services/usage-ledger/src/recovery/recoveryMetrics.ts';

const log = createLogger({ service: 'test', level: 'silent' });

/** The series that the fleet's own instruments measure, once each has measured something, with the names of their labels. */
export async function readMeasuredSeries(): Promise<Map<string, Set<string>>> {
  const telemetry = startTelemetry({
    service: 'test',
    scope: 'us',
    otlpEndpoint: undefined,
    traceSampleRatio: 0,
    log,
  });
  observeBuild(telemetry.meter, { version: '1.0.0', revision: 'abc' });
  measureRequests(telemetry.meter);
  observeReadiness({ postgres: () => true }, telemetry);
  observeWarnings(() => [{ kind: 'file_refused', subject: 'CATALOG_FILE', text: 'refused' }], telemetry);
  createExchangeCounter(telemetry.meter)('failed');
  measureInference(telemetry.meter);
  measureMedia(telemetry.meter);
  const stop = measureLedger(telemetry);
  const watching = await measureAccount(telemetry.meter);
  const noDb = { query: async () => [], transaction: () => Promise.reject(new Error('not here')) };
  const following = followFeed({
    url: 'http://127.0.0.1:1',
    internalHeaders: () => ({}),
    keys: [],
    region: 'us',
    db: noDb,
    applyEntry: async () => {},
    meter: telemetry.meter,
    log,
  });
  const comparing = compareWorkspaces({
    url: 'http://127.0.0.1:1',
    internalHeaders: () => ({}),
    keys: [],
    region: 'us',
    db: noDb as unknown as Parameters<typeof compareWorkspaces>[0]['db'],
    following: { now: async () => {} },
    meter: telemetry.meter,
    log,
  });
  const reporting = reportDays({
    url: 'http://127.0.0.1:1',
    internalHeaders: () => ({}),
    db: { transaction: () => Promise.reject(new Error('not here')) },
    meter: telemetry.meter,
    log,
  });
  try {
    const labels = new Map<string, Set<string>>();
    for (const sample of (await readMetrics(telemetry)).keys()) {
      const [name = ''] = sample.split('{');
      const found = Array.from(sample.matchAll(/[{,](\w+)="/g), ([, label = '']) => label);
      labels.set(name, new Set([...(labels.get(name) ?? []), ...found]));
    }
    return labels;
  } finally {
    await stop();
    await watching.close();
    await following?.close();
    await comparing?.close();
    await reporting?.close();
    await telemetry.shutdown();
  }
}

type Meter = Parameters<typeof createInferenceMetrics>[0];

function measureRequests(meter: Meter): void {
  const metrics = createRequestMetrics(meter);
  metrics.ended({ route: 'GET /v1/models', status: '200', outcome: 'whole', seconds: 1 });
  metrics.faulted({ route: 'GET /v1/models', fault: 'unforeseen' });
}

function measureInference(meter: Meter): void {
  const metrics = createInferenceMetrics(meter);
  const [model, engine] = [{ id: 'a-model' }, { id: 'an-engine' }];
  const call = {
    ...({
      canonicalModel: model.id,
      status: 'success',
      isStream: true,
      promptTokens: 1,
      cachedPromptTokens: 1,
    } as const),
    ...{ completionTokens: 1, billingUnit: 'token', chargeNanoUsd: 1n, startedAtMs: 0, endedAtMs: 1 },
  };
  metrics.keyBoundHit('streams', 'a-key');
  metrics.admitted(1);
  metrics.firstToken(model, 1);
  metrics.callEnded(call);
  metrics.callEnded({ ...call, billingUnit: 'minute', units: 1 });
  metrics.callPlaced(engine, 'match');
  metrics.engineFirstEvent(engine, 1);
  metrics.cacheCounted(model, { expectedPart: 1, countedPart: 0 });
  metrics.streamEnded(model, 1);
  metrics.callRetried(model);
  metrics.tokensUnpaid(model, { reason: '', tokens: 1 });
  metrics.engineEjected(engine, 'refused');
  metrics.engineProbed(engine, 'token');
  metrics.queued(model, 1);
  metrics.shed(model, 'key_share');
  metrics.holdSwept();
  metrics.alerted('unknown_ending');
  metrics.observe({
    isOpen: () => true,
    openCalls: () => 1,
    spoolBytes: () => 1,
    spoolWaitingBytes: () => 1,
    isSpoolHung: () => false,
    isSpoolRefused: () => false,
    spoolLimitBytes: 1,
    redisMemoryShare: () => 1,
  });
  metrics.observeFleet({
    engines: () => [{ ...engine, health: { breaker: 'closed' }, load: { tokensInFlight: 1 } }],
    retriesLeft: () => 1,
    routersHeard: () => 1,
  });
  metrics.observeQueue(() => [{ model: model.id, calls: 1 }]);
}

async function measureAccount(meter: Meter) {
  observeMails(meter, { query: async <Row>() => [{ value: 1 }] as Row[] })('sent');
  observeTopUps(meter, { query: async <Row>() => [{ value: 1 }] as Row[] });
  observeRates(meter, { query: async <Row>() => [{ count: 1 }] as Row[] });
  const away = { id: 'a-provider', name: '', issuer: 'http://localhost:1', client_id: 'a', client_secret: 'b' };
  const watching = watchProviders([new Provider(away)], { meter, log });
  // The gauge has a value after the first check.
  await watching.now().catch(() => {});
  return watching;
}

function measureMedia(meter: Meter): void {
  const metrics = createMediaMetrics(meter);
  const replica = { id: 'a-backend', model: 'a-model', slots: 1, draining: false };
  const [createdAt, endedAt] = [new Date(0), new Date(1)];
  metrics.jobEnded({
    ...{ model: 'a-model', operation: 'images', state: 'completed', errorCode: null },
    ...{ createdAt, begunAt: createdAt, endedAt },
  });
  metrics.attemptEnded(replica, 'made');
  metrics.bytesStored('output', 1);
  metrics.bytesRemoved('output', 1);
  metrics.orphanRemoved(replica);
  metrics.observeJobs(() => ({
    jobs: [{ model: 'a-model', state: 'queued', jobs: 1, oldestSeconds: 1 }],
    slots: [{ backend: replica.id, used: 1 }],
    overdue: [{ lacks: 'end', jobs: 1 }],
  }));
  metrics.observeBackends(() => [{ replica, state: 'ready', isHung: false }]);
  metrics.observeCalls(() => [[replica.id, 1]]);
  metrics.observeDecoder(() => ({ slots: 1, running: 1, waiting: 1, converting: 1, refusals: 1 }));
  metrics.observeUploads(() => ({ files: 1, bytes: 1 }), 1);
}

function measureLedger(telemetry: Parameters<typeof createRecordingTelemetry>[0]): () => Promise<void> {
  const recording = createRecordingTelemetry(telemetry);
  recording.batchRecorded({
    ...{ topic: 'usage', partition: 0, events: [], rows: 1, deadLetters: 1, isAfterGap: true, startedAtMs: 0 },
  });
  recording.observeLag(async () => 1n);
  recording.observePartitions(() => 1);
  recording.observeDeadLetters(async () => 1);
  observeRecovery(telemetry.meter, async () => ({
    ...{ now: new Date(0), gates: [], routers: [], closedMs: 0, timeline: 1, caughtUpWith: 1 },
  }));
  observeCredit(telemetry.meter, { query: async <Row>() => [{ usd: 1 }] as Row[] });
  // Its gauge asks nothing else, and no run is due here.
  const db = { query: async () => [{ seconds: 1 }] } as unknown as ScheduleOptions['db'];
  const schedule = scheduleReconciliation({
    ...{ db, log, telemetry, intervalMs: 3_600_000 },
    run: async () => ({ reports: [], lastWorkspace: '', unasked: 0 }),
  });
  return () => schedule.close();
}
