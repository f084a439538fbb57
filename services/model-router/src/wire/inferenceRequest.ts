import type { PricedModel } from '../catalog/catalog.ts';
import type { JsonBody } from './readBody.ts';

export type Operation = 'chat' | 'completions' | 'embeddings';

/** Where each operation lives, for clients as for engines. */
export const OPERATION_PATHS: Record<Operation, string> = {
  chat: '/v1/chat/completions',
  completions: '/v1/completions',
  embeddings: '/v1/embeddings',
};

/** What of a body becomes prompt: from it the prompt is bounded before any engine has counted. */
export interface PromptShape {
  /** Members whose text is the prompt, as it is. */
  textMembers: string[];
  /** Members that a chat template prints in its own way. */
  templateMembers: string[];
  /** Messages, or texts to embed: each may cost tokens of its own. */
  parts: number;
  images: number;
  /** Bytes of inline images within the text members: they are not text. */
  imageBytes: number;
}

/** A checked request, whichever operation it is of: what the router decides by. The rest travels on in the body's bytes. */
export interface InferenceRequest {
  operation: Operation;
  model: string;
  isStream: boolean;
  /** Whether the client asked to see the usage chunk; billing never depends on it. */
  includeUsage: boolean;
  isToolForced: boolean;
  /** Undefined where the client left the length to the model; 0 where there is no output. */
  requestedOutputTokens: number | undefined;
  prompt: PromptShape;
  body: JsonBody;
  /** Throws `invalid_request` for what this model cannot serve. */
  checkModel(model: PricedModel): void;
  /** Members that the engine gets in another form than the client's. */
  replacedMembers(model: PricedModel): ReadonlyMap<string, unknown>;
  /** What the engine's tokenizer has to count, in one question or several. */
  tokenizeQuestions(): object[];
}
