import { createInferenceMetrics } from '@turnpike/telemetry/inferenceMetrics';
import { noTelemetry } from '@turnpike/telemetry/noTelemetry';

/** Instruments that measure nothing. */
export const noMetrics = createInferenceMetrics(noTelemetry.meter);
