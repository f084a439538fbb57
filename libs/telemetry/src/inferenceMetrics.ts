import type { Meter, ObservableCallback } from '@opentelemetry/api';
import { createKeyBoundMetrics, type KeyBoundMetrics } from './keyBoundMetrics.ts';

/** A model of the catalog: its canonical id is a label, so what a client typed must never stand here. */
interface CatalogModel {
  readonly id: string;
}

/** How a call ended, as its completion event says it. */
export interface EndedCall {
  canonicalModel: string;
  status: 'success' | 'failure' | 'unknown';
  isStream: boolean;
  promptTokens: number;
  /** Part of `promptTokens` that the engine read from its prefix cache. */
  cachedPromptTokens: number;
  completionTokens: number;
  /** Billing unit of the model in the catalog: `token` for text only. */
  billingUnit: string;
  /** Measured units of media, which has no tokens. */
  units?: number | undefined;
  chargeNanoUsd: bigint;
  startedAtMs: number;
  endedAtMs: number;
}

/** The state of what admits calls, asked for at every scrape. */
export interface RouterState {
  /** Whether calls are admitted: the balances in Redis are in force. */
  isOpen: () => boolean;
  /** Calls under way; each of them has one hold. */
  openCalls: () => number;
  /** Bytes of the spool that fill it, those of completion events that are not recorded, and the size of a full one. */
  spoolBytes: () => number;
  spoolWaitingBytes: () => number;
  isSpoolHung: () => boolean;
  isSpoolRefused: () => boolean;
  spoolLimitBytes: number;
  /** Share of maxmemory that the fullest Redis uses. */
  redisMemoryShare: () => number;
}

/** A router's view of its engines, asked for at every scrape. */
export interface FleetState {
  engines: () => readonly {
    readonly id: string;
    readonly health: { readonly breaker: 'closed' | 'half_open' | 'open' };
    /** This router's calls in progress on the engine. */
    readonly load: { readonly tokensInFlight: number };
  }[];
  retriesLeft: () => number;
  /** Other routers that it hears. */
  routersHeard: () => number;
}

/**
 * The part of a prompt that was expected to be cached, and the part that the engine counted, both 0 to 1. Parts,
 * because the router has no tokenizer and does not know the number of tokens.
 */
export interface CacheEstimate {
  expectedPart: number;
  countedPart: number;
}

export interface InferenceMetrics extends KeyBoundMetrics {
  /** The admit script answered, whatever it decided. */
  admitted(seconds: number): void;
  /** The first token left for the client, so long after the request came. */
  firstToken(model: CatalogModel, seconds: number): void;
  callEnded(call: EndedCall): void;
  /** A call goes to an engine. `reason` says why there, one of a few codes. */
  callPlaced(engine: { readonly id: string }, reason: string): void;
  /** An engine's first event came so long after its request. */
  engineFirstEvent(engine: { readonly id: string }, seconds: number): void;
  /** The engine has counted what the call was placed by. */
  cacheCounted(model: CatalogModel, estimate: CacheEstimate): void;
  /** A stream came at this pace, from its first event to its end. */
  streamEnded(model: CatalogModel, tokensPerSecond: number): void;
  /** Counts output tokens of an attempt that failed, which are not charged. `reason` is one of a few codes. */
  tokensUnpaid(model: CatalogModel, unpaid: { reason: string; tokens: number }): void;
  /** A call goes to another engine after the first one failed it. */
  callRetried(model: CatalogModel): void;
  /** An engine, by its id in the fleet, is left out until it has produced a token again. `reason` is one of a few codes. */
  engineEjected(engine: { readonly id: string }, reason: string): void;
  /** An engine was asked for one token, to see whether it works. `result` is one of a few codes. */
  engineProbed(engine: { readonly id: string }, result: string): void;
  /** A call waited so long for an engine with room, and has it now. */
  queued(model: CatalogModel, seconds: number): void;
  /** A call was turned away because too many want an engine. `reason` is one of a few codes. */
  shed(model: CatalogModel, reason: string): void;
  /** The hold of a call that had lost its router was released. */
  holdSwept(): void;
  /** Something happened that nobody should have to find by accident; the log has the same as a line with `ALERT`. */
  alerted(kind: AlertKind): void;
  observe(state: RouterState): void;
  observeFleet(state: FleetState): void;
  /** How many calls wait for engines, by canonical model. */
  observeQueue(lengths: () => Iterable<{ model: string; calls: number }>): void;
}

/**
 * `charge_above_hold`: the formula gave more than was held, and the excess is lost. `count_above_bound`: an engine counted more tokens
 * than the admission bounded, and the excess takes nothing of the key's rate. `unknown_ending`: a call whose engine
 * had begun to answer ended without a count and is not charged. `unreadable_call`: a call's record or event could not be read. `engine_window_too_small`: an
 * engine serves a smaller window than the catalog sells. `backend_misconfigured`: a media backend refuses us, or its own model.
 */
export type AlertKind =
  | 'charge_above_hold'
  | 'count_above_bound'
  | 'unknown_ending'
  | 'unreadable_call'
  | 'engine_window_too_small'
  | 'backend_misconfigured';

const NANO_PER_USD = 1_000_000_000;
const BREAKER_VALUES = { closed: 0, half_open: 1, open: 2 };

const FIRST_TOKEN_SECONDS = [0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10, 20, 60];
const CALL_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600];
const TOKENS_PER_SECOND = [1, 2, 5, 10, 20, 30, 50, 75, 100, 150, 200, 400];
const ERROR_RATIOS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1];
const QUEUE_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 10, 20];
const ADMIT_SECONDS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25];

/** The instruments of inference, all of them. Made once, at start. */
export function createInferenceMetrics(meter: Meter): InferenceMetrics {
  const histogram = (name: string, description: string, explicitBucketBoundaries: number[]) =>
    meter.createHistogram(name, { description, advice: { explicitBucketBoundaries } });
  const counter = (name: string, description: string) => meter.createCounter(name, { description });
  const gauge = (name: string, description: string, observe: ObservableCallback): void =>
    meter.createObservableGauge(name, { description }).addCallback(observe);

  const admits = histogram('turnpike_admit_seconds', 'Wait for the admit script.', ADMIT_SECONDS);
  const firstTokens = histogram(
    'turnpike_time_to_first_token_seconds',
    'From the request to the first token sent to the client.',
    FIRST_TOKEN_SECONDS,
  );
  const durations = histogram('turnpike_call_duration_seconds', 'From admission to the end of a call.', CALL_SECONDS);
  const calls = counter('turnpike_calls_total', 'Admitted calls that ended, by how they did.');
  const tokens = counter('turnpike_tokens_total', 'Tokens by kind; cached_prompt is a part of prompt.');
  const units = counter(
    'turnpike_units_total',
    'What was measured of media, by unit; of what is billed by the minute, seconds.',
  );
  const charges = counter('turnpike_charged_usd_total', 'US dollars that ended calls were charged.');
  const placements = counter('turnpike_placements_total', 'Calls sent to an engine, by why it was chosen.');
  const firstEvents = histogram(
    'turnpike_engine_first_event_seconds',
    'From the request to an engine to its first event of a stream.',
    FIRST_TOKEN_SECONDS,
  );
  const estimateErrors = histogram(
    'turnpike_cache_estimate_error_ratio',
    'Part of a prompt expected to be cached against the part its engine counted; over: it had less.',
    ERROR_RATIOS,
  );
  const paces = histogram(
    'turnpike_output_tokens_per_second',
    'Pace of a stream from its first event to its end, as fast as its client reads.',
    TOKENS_PER_SECOND,
  );
  const unpaid = counter('turnpike_unpaid_tokens_total', 'Output tokens of attempts that failed, by reason.');
  const retries = counter('turnpike_engine_retries_total', 'Calls that were tried on another engine.');
  const ejections = counter('turnpike_engine_ejections_total', 'Times an engine was left out for a while, by reason.');
  const probes = counter('turnpike_engine_probes_total', 'Single tokens asked of engines to see whether they work.');
  const waits = histogram(
    'turnpike_queue_seconds',
    'Wait for an engine with room, of calls that had to.',
    QUEUE_SECONDS,
  );
  const sheds = counter('turnpike_sheds_total', 'Calls turned away because too many want an engine, by reason.');
  const sweeps = counter('turnpike_swept_holds_total', 'Holds released for calls that had lost their router.');

  const alerts = counter('turnpike_alerts_total', 'Money or records that a person has to look at, by kind.');

  return {
    ...createKeyBoundMetrics(meter),
    admitted: (seconds) => admits.record(seconds),
    firstToken: ({ id }, seconds) => firstTokens.record(seconds, { model: id }),
    callEnded(call) {
      const { canonicalModel: model, status, isStream } = call;
      calls.add(1, { model, status, stream: isStream });
      durations.record((call.endedAtMs - call.startedAtMs) / 1_000, { model });
      charges.add(Number(call.chargeNanoUsd) / NANO_PER_USD, { model });
      if (call.billingUnit !== 'token') {
        units.add(call.units ?? 0, { model, unit: call.billingUnit });
        return;
      }
      tokens.add(call.promptTokens, { model, kind: 'prompt' });
      tokens.add(call.cachedPromptTokens, { model, kind: 'cached_prompt' });
      tokens.add(call.completionTokens, { model, kind: 'completion' });
    },
    callPlaced: ({ id }, reason) => placements.add(1, { engine: id, reason }),
    engineFirstEvent: ({ id }, seconds) => firstEvents.record(seconds, { engine: id }),
    cacheCounted({ id }, { expectedPart, countedPart }) {
      const direction = expectedPart > countedPart ? 'over' : 'under';
      estimateErrors.record(Math.abs(expectedPart - countedPart), { model: id, direction });
    },
    streamEnded: ({ id }, tokensPerSecond) => paces.record(tokensPerSecond, { model: id }),
    tokensUnpaid: ({ id }, { reason, tokens: made }) => unpaid.add(made, { model: id, reason }),
    callRetried: ({ id }) => retries.add(1, { model: id }),
    engineEjected: ({ id }, reason) => ejections.add(1, { engine: id, reason }),
    engineProbed: ({ id }, result) => probes.add(1, { engine: id, result }),
    queued: ({ id }, seconds) => waits.record(seconds, { model: id }),
    shed: ({ id }, reason) => sheds.add(1, { model: id, reason }),
    holdSwept: () => sweeps.add(1),
    alerted: (kind) => alerts.add(1, { kind }),
    observe({
      isOpen,
      openCalls,
      spoolBytes,
      spoolWaitingBytes,
      isSpoolHung,
      isSpoolRefused,
      spoolLimitBytes,
      redisMemoryShare,
    }) {
      gauge(
        'turnpike_router_admits',
        'Whether this process admits calls: 0 while the balances in Redis are not in force.',
        (result) => result.observe(Number(isOpen())),
      );
      gauge('turnpike_open_calls', 'Calls under way; each has one hold.', (result) => result.observe(openCalls()));
      gauge('turnpike_spool_bytes', 'Bytes on disk that fill the spool, of released events as well.', (result) =>
        result.observe(spoolBytes()),
      );
      gauge('turnpike_spool_waiting_bytes', 'Completion events that are not recorded.', (result) =>
        result.observe(spoolWaitingBytes()),
      );
      gauge(
        'turnpike_spool_hung',
        'Whether an operation of the spool’s disk has taken longer than a second.',
        (result) => result.observe(Number(isSpoolHung())),
      );
      gauge(
        'turnpike_spool_refused',
        'Whether the spool’s disk refused the last write, as a full one does.',
        (result) => result.observe(Number(isSpoolRefused())),
      );
      gauge('turnpike_spool_limit_bytes', 'Size of a full spool.', (result) => result.observe(spoolLimitBytes));
      gauge(
        'turnpike_redis_memory_ratio',
        'Share of its maxmemory that the fullest Redis uses; 0 without a limit.',
        (result) => result.observe(redisMemoryShare()),
      );
    },
    observeFleet({ engines, retriesLeft, routersHeard }) {
      gauge(
        'turnpike_engine_breaker',
        'Whether calls flow to an engine: 0 they do, 1 it is being tried, 2 they do not.',
        (result) => {
          for (const { id, health } of engines()) result.observe(BREAKER_VALUES[health.breaker], { engine: id });
        },
      );
      gauge(
        'turnpike_engine_tokens_in_flight',
        'Tokens under way on an engine: prompts still to be computed, and expected answers; a trial of the router’s own counts too.',
        (result) => {
          for (const { id, load } of engines()) result.observe(load.tokensInFlight, { engine: id });
        },
      );
      gauge('turnpike_engine_retries_left', 'Calls that may be tried again now.', (result) =>
        result.observe(retriesLeft()),
      );
      gauge('turnpike_routers_heard', 'Other routers of the region of whose calls this one hears.', (result) =>
        result.observe(routersHeard()),
      );
    },
    observeQueue(lengths) {
      gauge('turnpike_queued_calls', 'Calls that wait for an engine with room.', (result) => {
        for (const { model, calls } of lengths()) result.observe(calls, { model });
      });
    },
  };
}
