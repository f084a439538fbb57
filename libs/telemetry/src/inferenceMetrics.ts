import type { Meter } from '@opentelemetry/api';

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
  startedAtMs: number;
  endedAtMs: number;
}

/** What a router is busy with, asked for at every scrape. */
export interface RouterState {
  /** Calls under way; each of them has one hold. */
  openCalls: () => number;
  /** Completion events that the event log has not acknowledged, and the room there is for them. */
  spoolBytes: () => number;
  spoolLimitBytes: number;
}

export interface InferenceMetrics {
  /** The admit script answered, whatever it decided. */
  admitted(seconds: number): void;
  /** The first token left for the client, so long after the request came. */
  firstToken(model: CatalogModel, seconds: number): void;
  callEnded(call: EndedCall): void;
  /** A call goes to another engine after the first one failed it. */
  callRetried(model: CatalogModel): void;
  /** An engine, by its id in the configuration, is left out until it answers again. */
  engineEjected(engine: { readonly id: string }): void;
  /** The hold of a call that had lost its router was released. */
  holdSwept(): void;
  observe(state: RouterState): void;
}

const FIRST_TOKEN_SECONDS = [0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10, 20, 60];
const CALL_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600];
const ADMIT_SECONDS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25];

/** The instruments of inference, all of them. Made once, at start. */
export function createInferenceMetrics(meter: Meter): InferenceMetrics {
  const histogram = (name: string, description: string, explicitBucketBoundaries: number[]) =>
    meter.createHistogram(name, { description, advice: { explicitBucketBoundaries } });
  const counter = (name: string, description: string) => meter.createCounter(name, { description });

  const admits = histogram('turnpike_admit_seconds', 'Wait for the admit script.', ADMIT_SECONDS);
  const firstTokens = histogram(
    'turnpike_time_to_first_token_seconds',
    'From the request to the first token sent to the client.',
    FIRST_TOKEN_SECONDS,
  );
  const durations = histogram('turnpike_call_duration_seconds', 'From admission to the end of a call.', CALL_SECONDS);
  const calls = counter('turnpike_calls_total', 'Admitted calls that ended, by how they did.');
  const tokens = counter('turnpike_tokens_total', 'Tokens by kind; cached_prompt is a part of prompt.');
  const retries = counter('turnpike_engine_retries_total', 'Calls that were tried on another engine.');
  const ejections = counter('turnpike_engine_ejections_total', 'Times an engine was left out for a while.');
  const sweeps = counter('turnpike_swept_holds_total', 'Holds released for calls that had lost their router.');

  return {
    admitted: (seconds) => admits.record(seconds),
    firstToken: ({ id }, seconds) => firstTokens.record(seconds, { model: id }),
    callEnded(call) {
      const { canonicalModel: model, status, isStream } = call;
      calls.add(1, { model, status, stream: isStream });
      durations.record((call.endedAtMs - call.startedAtMs) / 1_000, { model });
      tokens.add(call.promptTokens, { model, kind: 'prompt' });
      tokens.add(call.cachedPromptTokens, { model, kind: 'cached_prompt' });
      tokens.add(call.completionTokens, { model, kind: 'completion' });
    },
    callRetried: ({ id }) => retries.add(1, { model: id }),
    engineEjected: ({ id }) => ejections.add(1, { engine: id }),
    holdSwept: () => sweeps.add(1),
    observe({ openCalls, spoolBytes, spoolLimitBytes }) {
      const gauge = (name: string, description: string, read: () => number): void =>
        meter.createObservableGauge(name, { description }).addCallback((result) => result.observe(read()));
      gauge('turnpike_open_calls', 'Calls under way; each has one hold.', openCalls);
      gauge('turnpike_spool_bytes', 'Completion events the event log has not acknowledged.', spoolBytes);
      gauge('turnpike_spool_limit_bytes', 'Size of a full spool.', () => spoolLimitBytes);
    },
  };
}
