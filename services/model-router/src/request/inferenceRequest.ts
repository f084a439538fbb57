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
  /** Bytes of inline images, and of the addresses of others, within the text members: they are not text. */
  imageBytes: number;
}

/** The images of a request. */
export interface RequestImages {
  /** As the client wrote them, one for each image part: `data:` or http(s). */
  urls: readonly string[];
  /** Where each of them stands. */
  places: readonly { message: number; part: number }[];
  /** `data:` URLs for those that had to be fetched; none before the call is admitted. */
  fetched: ReadonlyMap<string, Buffer>;
}

/** Of a request without images. */
export const NO_IMAGES: RequestImages = { urls: [], places: [], fetched: new Map() };

/** A checked request, whichever operation it is of: what the router decides by, and what it writes for the engine. */
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
  images: RequestImages;
  body: JsonBody;
  /**
   * The members that are written anew for the engine, from what was checked; an undefined one is left out. The bytes of all
   * others are passed on.
   */
  written: Readonly<Record<string, unknown>>;
  /** Throws `invalid_request` for what this model cannot serve. */
  checkModel(model: PricedModel): void;
  /** Of the written members those that this model gets in another form. */
  replacedMembers(model: PricedModel): ReadonlyMap<string, unknown>;
  /** What this model is asked for instead of what the client asked for, as trace and log name it; undefined: nothing. */
  fallbackOn(model: PricedModel): 'json_object_fallback' | undefined;
  /**
   * What the engine's tokenizer has to count, in one question or several. Images that have not been fetched are left out, or
   * an engine would fetch them: each is to be counted at the model's most.
   */
  tokenizeQuestions(): object[];
}
