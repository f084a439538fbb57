import type { OperationName } from '@turnpike/public-api/operations';
import type { BodyLimits, JsonBody } from '@turnpike/request-reading/body/readBody';
import type { SlotOwner } from '@turnpike/request-reading/shares/fairSlots';
import type { PricedModel } from '../catalog/catalog.ts';

/** The differences between inference operations: the reading of requests, and the values for gates and engines. */
export interface Operation {
  /** Its name in usage rows. */
  name: OperationName;
  /** Its path at engines: that of OpenAI. */
  path: string;
  /** Its path for clients. */
  clientPath: string;
  limits: BodyLimits;
  /** Names of a chat's fields in the API of `clientPath`, where they differ. */
  fieldNames?: Readonly<Record<string, string>>;
  /** Checks a body. Throws, or rejects with, `invalid_request`. */
  parse(body: JsonBody): InferenceRequest | Promise<InferenceRequest>;
  /** Whether engines generate an answer: it shares the model's window with the prompt, and the prompt's beginning is cached. */
  isGenerating: boolean;
  /** The most tokens of an answer that is not streamed, whatever was asked for; undefined: what the model can. */
  maxWholeOutputTokens?: number;
  /** The members that engines render into a prompt, in their order. */
  prefixMembers: readonly string[];
  /** Whether a tokenizer is asked with the body's own members, so that their long strings can be copied. */
  isAskedByBody: boolean;
}

/** The parts of a body that become prompt: they bound the prompt's tokens before any engine has counted. */
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
  /** The addresses as the client wrote them, one for each image part: `data:` or http(s). */
  urls: readonly string[];
  /** The place of each image in the messages. */
  places: readonly { message: number; part: number }[];
  /** `data:` URLs for those that had to be fetched; none before the call is admitted. */
  fetched: ReadonlyMap<string, Buffer>;
}

/** The images of a request that has none. */
export const NO_IMAGES: RequestImages = { urls: [], places: [], fetched: new Map() };

/** The request as an answer of the Responses API repeats it. */
export interface ResponsesEcho {
  /** Fields of the request that the answer repeats. */
  fields: Readonly<Record<string, unknown>>;
  /** The functions of namespaces, by the name that engines know them by. */
  namespaced: ReadonlyMap<string, { namespace: string; name: string }>;
}

/** The form of a request for one model. */
export interface RequestForm {
  /** The written members that the model gets in another form; undefined for one that is left out. */
  readonly replaced: ReadonlyMap<string, unknown>;
  /** The fallback instead of what the client asked for, as trace and log name it. */
  readonly fallback?: 'json_object_fallback';
}

/** The form of a request that a model gets as it is written. */
export const AS_WRITTEN: RequestForm = { replaced: new Map() };

/** A checked request, whichever operation it is of: what the router decides by, and what it writes for the engine. */
export interface InferenceRequest {
  readonly operation: Operation;
  model: string;
  isStream: boolean;
  /** Whether the client asked to see the usage chunk; billing never depends on it. */
  includeUsage: boolean;
  isToolForced: boolean;
  /** Whether a longer output than fits the window is shortened. Engines refuse it otherwise. */
  isOutputFitted?: boolean;
  /** The request as the answer repeats it, in the Responses API. */
  echo?: ResponsesEcho;
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
  /** Throws `invalid_request` for what this model cannot serve. `served` gives the models that a refusal may name. */
  checkModel(model: PricedModel, served: () => readonly PricedModel[]): void;
  /** Returns how this model gets the request, where that is not as it is written. */
  formFor(model: PricedModel): RequestForm;
  /**
   * Questions for a tokenizer that count the prompt, one or several. Images that have not been fetched are left out, or an
   * engine would fetch them: each is to be counted at the model's most.
   */
  tokenizeQuestions(): object[];
}

/**
 * The engine's count of the prompt, or undefined when no engine gives one in time. It is exact but for images that have not been
 * fetched, which are counted at the model's most. Throws `key_bound_reached` when the workspace has too many prompts being
 * counted for this one to have its turn, `overloaded` when all others have.
 */
export type CountPromptTokens = (
  request: InferenceRequest,
  model: PricedModel,
  owner: SlotOwner,
) => Promise<number | undefined>;
