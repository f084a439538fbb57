import { createInferenceMetrics } from './inferenceMetrics.ts';
import { noTelemetry } from './noTelemetry.ts';

/** Instruments that measure nothing. */
export const noMetrics = createInferenceMetrics(noTelemetry.meter);
