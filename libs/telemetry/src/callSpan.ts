import { ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api';
import { type SpanAttributes, toAllowedAttributes, toSpanName } from './spanAttributes.ts';
import { toTraceparent } from './traceparent.ts';

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
export function createCallSpan(span: Span, tracer: Tracer): CallSpan {
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
