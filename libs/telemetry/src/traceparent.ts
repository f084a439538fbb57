import { type SpanContext, TraceFlags } from '@opentelemetry/api';

/**
 * A W3C trace context of a sampled span, version 00, as it travels in the header `traceparent` and in events. Calls that
 * are not sampled carry none. Inside the stack only: the edge passes no client's on.
 */
export const TRACEPARENT_PATTERN = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-01$/;

/** How a span names itself to whoever works for it. */
export const toTraceparent = ({ traceId, spanId }: SpanContext): string => `00-${traceId}-${spanId}-01`;

/** The span that a `traceparent` names, or undefined if the value is missing, malformed or not sampled. */
export function fromTraceparent(value: unknown): SpanContext | undefined {
  if (typeof value !== 'string' || !TRACEPARENT_PATTERN.test(value)) return undefined;
  return {
    traceId: value.slice(3, 35),
    spanId: value.slice(36, 52),
    traceFlags: TraceFlags.SAMPLED,
    isRemote: true,
  };
}
