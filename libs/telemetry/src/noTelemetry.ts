import { createNoopMeter } from '@opentelemetry/api';
import { noTracer } from './callSpan.ts';
import { createInferenceMetrics } from './inferenceMetrics.ts';
import { createMediaMetrics } from './mediaMetrics.ts';
import type { Telemetry } from './startTelemetry.ts';

/** Measures nothing: for tests, and for servers that are no part of the fleet. */
export const noTelemetry: Telemetry = {
  meter: createNoopMeter(),
  tracer: noTracer,
  serveMetrics: async (_req, res) => void res.end(),
};

/** Instruments that measure nothing. */
export const noMetrics = createInferenceMetrics(noTelemetry.meter);

export const noMediaMetrics = createMediaMetrics(noTelemetry.meter);
