import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Meter } from '@opentelemetry/api';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import type { Scope } from '@turnpike/config/region';
import type { Logger } from '@turnpike/logging/createLogger';
import { type CallTracer, createCallTracer, noTracer } from './callSpan.ts';
import { createSpanExport } from './exportSpans.ts';
import { observeProcess } from './processMetrics.ts';
import { MAX_LABEL_SETS, ScrapeReader } from './scrapeReader.ts';
import { createTallies } from './tallies.ts';

export type { Meter };

/** The metrics and traces of a service. */
export interface Telemetry {
  /** Makes the service's instruments, once, at start. Labels are of bounded number: route patterns, canonical model ids. */
  meter: Meter;
  tracer: CallTracer;
  /** Answers `GET /metrics`. */
  serveMetrics: (req: IncomingMessage, res: ServerResponse) => Promise<void>;
}

export interface RunningTelemetry extends Telemetry {
  /** Exports what is finished, within a few seconds, and ends. */
  shutdown(): Promise<void>;
}

export interface TelemetryOptions {
  service: string;
  scope: Scope;
  /** Base address of an OTLP collector. Undefined: no span is made, and none is exported. */
  otlpEndpoint: string | undefined;
  /** Share of calls whose trace is begun here, 0 to 1. */
  traceSampleRatio: number;
  log: Logger;
}

/** Metrics for Prometheus to fetch, and traces sent to a collector where there is one. Holds no global state. */
export function startTelemetry(options: TelemetryOptions): RunningTelemetry {
  const { service, scope, otlpEndpoint, traceSampleRatio: sampleRatio, log } = options;
  const resource = resourceFromAttributes({
    'service.namespace': 'turnpike',
    'service.name': service,
    'cloud.region': scope,
  });
  const reader = new ScrapeReader();
  const meterProvider = new MeterProvider({ resource, readers: [reader] });
  const tallies = createTallies(meterProvider.getMeter('turnpike'), { maxLabelSets: MAX_LABEL_SETS });
  const { meter } = tallies;
  const stopObserving = observeProcess(meter);

  const spans =
    otlpEndpoint === undefined ? undefined : createSpanExport({ otlpEndpoint, resource, meterProvider, log });
  return {
    meter,
    tracer: spans ? createCallTracer(spans.getTracer('turnpike'), { sampleRatio }) : noTracer,
    serveMetrics: (_req, res) => reader.answer(tallies.collect(), res),
    async shutdown() {
      stopObserving();
      // A collector that is away has been reported; it does not make the end of a process a failed one.
      await spans?.shutdown().catch(() => {});
      await meterProvider.shutdown();
    },
  };
}
