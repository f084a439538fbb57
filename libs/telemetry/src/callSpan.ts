import { ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api';
import type { EndedCall } from './inferenceMetrics.ts';
import { fromTraceparent, toTraceparent } from './traceparent.ts';

/** One part of the work on a call, by one service. Most calls are not traced: theirs is `noSpan`, which costs nothing. */
export interface CallSpan {
  /** Header value that lets the next service go on with the trace; undefined when the call is not traced. */
  readonly traceparent: string | undefined;
  /** A part of this part. `client` when it waits for another service or an engine. */
  startChild(name: string, kind: 'client' | 'internal'): CallSpan;
  /** Only what is on the list of attributes leaves the process. Cheapest when called once, at the end. */
  setAttributes(attributes: SpanAttributes): void;
  /** Ends the span; later calls change nothing. `isError` marks work that failed on our side. */
  end(outcome?: { isError: boolean }): void;
}

/** The span of a call that is not traced. */
export const noSpan: CallSpan = {
  traceparent: undefined,
  startChild: () => noSpan,
  setAttributes: () => {},
  end: () => {},
};

const KINDS = { client: SpanKind.CLIENT, internal: SpanKind.INTERNAL };

/** A sampled span. */
function createCallSpan(span: Span, tracer: Tracer): CallSpan {
  const traceparent = toTraceparent(span.spanContext());
  return {
    traceparent,
    startChild(name, kind) {
      const parent = trace.setSpan(ROOT_CONTEXT, span);
      return createCallSpan(tracer.startSpan(toSpanName(name), { kind: KINDS[kind] }, parent), tracer);
    },
    setAttributes: (attributes) => void span.setAttributes(toAllowedAttributes(attributes)),
    end({ isError } = { isError: false }) {
      // Without a message: what went wrong in words is for the log, which knows what it may say.
      if (isError) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    },
  };
}

/** Ids of ours, of engines and of catalog models: no blanks, so no prose, and nothing that looks like an API key. */
const ID = /^(?!.*\bsk-[A-Za-z0-9]{16})[A-Za-z0-9._:/@-]{1,128}$/;
/** Short codes of ours: `success`, `monthly_cap`. */
const CODE = /^[a-z0-9_-]{1,64}$/;
/** A method and the pattern of a path: `GET /v1/models/:id`. */
const ROUTE = /^[A-Z]{3,7} \/[A-Za-z0-9_:./-]{0,120}$/;

/** The most engines that one span names. */
export const MAX_CANDIDATES = 16;
/** Engines by their ids with three figures each: `engine-1 score=512 load=0 cached=128, engine-2 score=…`. */
const CANDIDATE = '[A-Za-z0-9._:/@-]{1,128} score=\\d{1,15} load=\\d{1,15} cached=\\d{1,15}';
const CANDIDATES = new RegExp(`^(?!.*\\bsk-[A-Za-z0-9]{16})${CANDIDATE}(?:, ${CANDIDATE}){0,${MAX_CANDIDATES - 1}}$`);

/**
 * Everything that a span may say about a call, and what each value must look like. There is nothing here that could hold
 * a key, a prompt, a completion or an address; add to it with that in mind.
 */
const ALLOWED = {
  'http.route': ROUTE,
  'http.response.status_code': 'number',
  'turnpike.request_id': ID,
  'turnpike.call_id': ID,
  /** The fault that a request ended in, by its kind. */
  'turnpike.fault': CODE,
  /** The catalog's canonical id, never what a client typed. */
  'turnpike.model': ID,
  /** The engine's id in the configuration. */
  'turnpike.engine': ID,
  /** How many engines were tried. */
  'turnpike.attempts': 'number',
  /** How long the call waited for an engine with room. */
  'turnpike.queue_wait_ms': 'number',
  /** Why the call went to this engine: `rendezvous`, `match`, `least_load`, `spill`, `only`. */
  'turnpike.placement': CODE,
  /** The engines that were compared, the chosen one first, each with its score and what that was made of, in tokens. */
  'turnpike.candidates': CANDIDATES,
  /** How many there were, named or not. */
  'turnpike.candidate_count': 'number',
  /** Placement's expectation; the engine's own counts of the answer stand beside it. */
  'turnpike.expected_prompt_tokens': 'number',
  'turnpike.expected_cached_tokens': 'number',
  /** From an engine's request to its first event. */
  'turnpike.first_event_ms': 'number',
  'turnpike.is_stream': 'boolean',
  /** Set where the engine was asked for another form of answer than the client asked for: `json_object_fallback`. */
  'turnpike.response_format': CODE,
  'turnpike.prompt_tokens': 'number',
  'turnpike.cached_prompt_tokens': 'number',
  'turnpike.completion_tokens': 'number',
  'turnpike.time_to_first_token_ms': 'number',
  /** The call's status in the ledger, and the short code of its reason. */
  'turnpike.status': CODE,
  'turnpike.reason': CODE,
  'turnpike.topic': ID,
  'turnpike.partition': 'number',
  'turnpike.records': 'number',
  'turnpike.rows': 'number',
  'turnpike.dead_letters': 'number',
} as const;

type AttributeName = keyof typeof ALLOWED;
type ValueOf<Rule> = Rule extends 'number' ? number : Rule extends 'boolean' ? boolean : string;

/** The attributes of a call's span. One that is undefined is left out. */
export type SpanAttributes = { [Name in AttributeName]?: ValueOf<(typeof ALLOWED)[Name]> | undefined };

/** The attributes that may leave the process. Others, and values of the wrong look, are left out, whatever the types said. */
export function toAllowedAttributes(attributes: SpanAttributes): Record<string, string | number | boolean> {
  const allowed: Record<string, string | number | boolean> = {};
  for (const [name, value] of Object.entries(attributes)) {
    if (Object.hasOwn(ALLOWED, name) && isAllowed(ALLOWED[name as AttributeName], value)) allowed[name] = value;
  }
  return allowed;
}

function isAllowed(rule: RegExp | 'number' | 'boolean', value: unknown): value is string | number | boolean {
  if (rule instanceof RegExp) return typeof value === 'string' && rule.test(value);
  return typeof value === rule;
}

const SPAN_NAME = /^(?!.*\bsk-[A-Za-z0-9]{16})[A-Za-z][A-Za-z0-9 _:./-]{0,127}$/;

/** A span's name, if it is one that our code could have chosen. */
export const toSpanName = (name: string): string => (SPAN_NAME.test(name) ? name : 'unnamed');

/** The span attributes of a call, taken from its completion event. */
export function toCallAttributes(
  call: EndedCall & { callId: string; model: string; reason: string | null },
): SpanAttributes {
  return {
    'turnpike.call_id': call.callId,
    'turnpike.model': call.canonicalModel,
    'turnpike.engine': call.model,
    'turnpike.is_stream': call.isStream,
    'turnpike.status': call.status,
    'turnpike.reason': call.reason ?? undefined,
    'turnpike.prompt_tokens': call.promptTokens,
    'turnpike.cached_prompt_tokens': call.cachedPromptTokens,
    'turnpike.completion_tokens': call.completionTokens,
  };
}

export interface FinishedBatch {
  /** The calls that the work was done for; those without a trace are left out. At most 128 are linked. */
  traceparents: (string | undefined)[];
  startedAtMs: number;
  attributes: SpanAttributes;
}

export interface CallTracer {
  /** Begins the trace of a call, if it is one of the sampled share. Only the edge does: what it samples, all follow. */
  startTrace(name: string): CallSpan;
  /** Goes on with the trace that a caller inside the stack sent. Without one the call is not traced here either. */
  continueTrace(traceparent: unknown, name: string): CallSpan;
  /** Records work done for several calls together, linked to each of them; nothing if none of them is traced. */
  recordBatch(name: string, batch: FinishedBatch): void;
}

/** Traces nothing. */
export const noTracer: CallTracer = {
  startTrace: () => noSpan,
  continueTrace: () => noSpan,
  recordBatch: () => {},
};

/** Samples at the head, before a span is made, so that a call outside the share costs one random number. */
export function createCallTracer(
  tracer: Tracer,
  { sampleRatio, random = Math.random }: { sampleRatio: number; random?: () => number },
): CallTracer {
  return {
    startTrace(name) {
      if (random() >= sampleRatio) return noSpan;
      return createCallSpan(tracer.startSpan(toSpanName(name), { kind: SpanKind.SERVER }, ROOT_CONTEXT), tracer);
    },
    continueTrace(traceparent, name) {
      const caller = fromTraceparent(traceparent);
      if (!caller) return noSpan;
      const parent = trace.setSpanContext(ROOT_CONTEXT, caller);
      return createCallSpan(tracer.startSpan(toSpanName(name), { kind: SpanKind.SERVER }, parent), tracer);
    },
    recordBatch(name, { traceparents, startedAtMs, attributes }) {
      const callers = traceparents.map(fromTraceparent).filter((caller) => caller !== undefined);
      if (callers.length === 0) return;
      const span = tracer.startSpan(
        toSpanName(name),
        {
          kind: SpanKind.CONSUMER,
          startTime: startedAtMs,
          links: callers.map((context) => ({ context })),
          attributes: toAllowedAttributes(attributes),
        },
        ROOT_CONTEXT,
      );
      span.end();
    },
  };
}
