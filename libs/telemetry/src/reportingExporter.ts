import type { SpanExporter } from '@opentelemetry/sdk-trace';
import type { Logger } from '@turnpike/logging/createLogger';

const REPORT_EVERY_MS = 60_000;

/** An exporter that says in the log, at most once a minute, that spans were lost. The SDK alone would say nothing. */
export function createReportingExporter(exporter: SpanExporter, { log }: { log: Logger }): SpanExporter {
  let lostSpans = 0;
  let reportedAt = Number.NEGATIVE_INFINITY;

  function report(spans: number, error: Error | undefined): void {
    lostSpans += spans;
    if (performance.now() - reportedAt < REPORT_EVERY_MS) return;
    // Only the code: the collector's own words and its address stay out of the log.
    log.warn({ lostSpans, code: error && 'code' in error ? String(error.code) : undefined }, 'spans not exported');
    reportedAt = performance.now();
    lostSpans = 0;
  }

  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        if (result.code !== 0) report(spans.length, result.error);
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
  };
}
