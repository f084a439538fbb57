import type { Token } from 'node-llama-cpp';
import { createJsonConstraint, type JsonConstraint, type JsonFormat } from './createJsonConstraint.ts';
import { EngineMetrics } from './engineMetrics.ts';
import { Generation, type GenerationRequest } from './generation.ts';
import type { LoadedEngine } from './loadEngine.ts';
import { SequenceSlots } from './sequenceSlots.ts';

/** The engine as its routes see it. */
export interface TinyEngine {
  slots: SequenceSlots;
  metrics: EngineMetrics;
  /** The tokens of a text, control tokens never among them. */
  encode(text: string): Token[];
  /** Throws where a JSON schema uses what the grammar cannot express. */
  constrain(format: JsonFormat): Promise<JsonConstraint>;
  /** Puts a request in the queue. */
  generate(request: GenerationRequest): Generation;
}

export function createTinyEngine({ llama, model, sequences }: LoadedEngine): TinyEngine {
  const slots = new SequenceSlots(sequences);
  const metrics = new EngineMetrics();
  return {
    slots,
    metrics,
    encode: (text) => model.tokenize(text),
    constrain: (format) => createJsonConstraint(format, { llama, model }),
    generate: (request) => new Generation(request, { slots, metrics }),
  };
}
