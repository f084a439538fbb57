import type { Dialect } from '../../terms/backend.ts';
import { hear } from './hear.ts';
import type { Wire } from './wire.ts';

/** vLLM with a speech-to-text model: segments where the model has them, never words. */
export const vllmAsr = (wire: Wire): Dialect => ({ transcribe: hear(wire, { hasWords: false, timesCostText: true }) });
