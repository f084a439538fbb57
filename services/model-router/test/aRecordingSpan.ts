import type { CallSpan, SpanAttributes } from '@turnpike/telemetry/callSpan';

/** A traced call's span that keeps what it is told. */
export interface RecordingSpan extends CallSpan {
  readonly attributes: SpanAttributes;
  readonly children: RecordingSpan[];
}

/** Makes one. */
export function aRecordingSpan(): RecordingSpan {
  const attributes: SpanAttributes = {};
  const children: RecordingSpan[] = [];
  return {
    traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
    attributes,
    children,
    startChild() {
      const child = aRecordingSpan();
      children.push(child);
      return child;
    },
    setAttributes: (told) => void Object.assign(attributes, told),
    end() {},
  };
}
