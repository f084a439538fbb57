import type { MeterProvider } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import type { Resource } from '@opentelemetry/resources';
import { AlwaysOnSampler, BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import type { Logger } from '@turnpike/logging/createLogger';
import { createReportingExporter } from './reportingExporter.ts';

/** Finished spans that wait for their export: some 2 MB. What comes above them is dropped and counted. */
const MAX_QUEUED_SPANS = 2_048;
const MAX_BATCH_SPANS = 512;
const EXPORT_EVERY_MS = 2_000;
/** Longest time one batch may take, retries included. It also bounds the end of the process. */
const EXPORT_TIMEOUT_MS = 3_000;
/** Past the deadline of a batch, so that it has been said what became of it. */
const GIVE_UP_MS = EXPORT_TIMEOUT_MS + 500;
/** Batches on their way at once. */
const MAX_EXPORTS = 2;
const MAX_TEXT_LENGTH = 128;

export interface ExportSpansOptions {
  /** Base address of the collector; spans go to `/v1/traces` below it, as OTLP over HTTP in JSON. */
  otlpEndpoint: string;
  resource: Resource;
  /** Counts the spans that were exported and those that were dropped. */
  meterProvider: MeterProvider;
  log: Logger;
}

/** Sends finished spans to a collector in batches. A collector that is slow or away costs spans, never a call. */
export function createSpanExport({ otlpEndpoint, resource, meterProvider, log }: ExportSpansOptions): TracerProvider {
  const exporter = new OTLPTraceExporter({
    url: `${otlpEndpoint.replace(/\/+$/, '')}/v1/traces`,
    timeoutMillis: EXPORT_TIMEOUT_MS,
    concurrencyLimit: MAX_EXPORTS,
  });
  return new TracerProvider({
    resource,
    sampler: new AlwaysOnSampler(), // calls that are not sampled have no span
    spanLimits: { attributeValueLengthLimit: MAX_TEXT_LENGTH, eventCountLimit: 0 },
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: createReportingExporter(exporter, { timeoutMs: EXPORT_TIMEOUT_MS, log }),
        maxQueueSize: MAX_QUEUED_SPANS,
        maxExportBatchSize: MAX_BATCH_SPANS,
        scheduledDelayMillis: EXPORT_EVERY_MS,
        exportTimeoutMillis: GIVE_UP_MS,
        selfObsMeterProvider: meterProvider,
      }),
    ],
  });
}
