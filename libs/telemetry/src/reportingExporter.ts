import type { SpanExporter } from '@opentelemetry/sdk-trace';
import type { Logger } from '@turnpike/logging/createLogger';

const REPORT_EVERY_MS = 60_000;
/** The SDK's number for a failed export. */
const FAILED = 1;

export interface ReportingOptions {
  /** Longest time one batch may take: past it the batch is given up as lost, whatever the exporter still makes of it. */
  timeoutMs: number;
  log: Logger;
}

/** An exporter that says in the log, at most once a minute, that spans were lost. The SDK alone would say nothing. */
export function createReportingExporter(exporter: SpanExporter, { timeoutMs, log }: ReportingOptions): SpanExporter {
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
      let isOver = false;
      const end: typeof done = (result) => {
        if (isOver) return;
        isOver = true;
        clearTimeout(deadline);
        if (result.code !== 0) report(spans.length, result.error);
        done(result);
      };
      // The exporter's own deadline begins anew with a connection and with each repetition.
      const deadline = setTimeout(() => end({ code: FAILED, error: new Error('no answer in time') }), timeoutMs);
      exporter.export(spans, end);
    },
    shutdown: () => exporter.shutdown(),
  };
}
