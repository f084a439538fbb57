import { ROOT_CONTEXT, SpanKind, type Tracer, trace } from '@opentelemetry/api';
import {
  type CallSpan,
  createCallSpan,
  noSpan,
  type SpanAttributes,
  toAllowedAttributes,
  toSpanName,
} from './callSpan.ts';
import { fromTraceparent } from './traceparent.ts';

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
