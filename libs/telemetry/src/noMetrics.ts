import { createInferenceMetrics } from './inferenceMetrics.ts';
import { createMediaMetrics } from './mediaMetrics.ts';
import { noTelemetry } from './noTelemetry.ts';

/** Instruments that measure nothing. */
export const noMetrics = createInferenceMetrics(noTelemetry.meter);

export const noMediaMetrics = createMediaMetrics(noTelemetry.meter);
