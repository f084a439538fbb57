import type { OperationName } from '@turnpike/public-api/operations';
import type { BodyLimits, JsonBody } from '@turnpike/request-reading/body/readBody';
import type { SlotOwner } from '@turnpike/request-reading/shares/fairSlots';
import type { PricedModel } from '../catalog/catalog.ts';

/** The differences between inference operations: the reading of requests, and the values for gates and engines. */
export interface Operation {
  /** Its name in usage rows. */
  name: OperationName;
  /** Its path on engines, that of OpenAI. */
  path: string;
  /** Its path for clients. */
  clientPath: string;
  limits: BodyLimits;
  /** Names of a chat's fields in the API of `clientPath`, where they differ. */
  fieldNames?: Readonly<Record<string, string>>;
  /** Checks a body. Throws or rejects with `invalid_request`. */
  parse(body: JsonBody): InferenceRequest | Promise<InferenceRequest>;
  /**
   * Whether engines generate an answer. An answer shares the model's window with the prompt, and the prompt's beginning
   * is cached.
   */
  isGenerating: boolean;
  /** Most tokens of a non-streaming answer, whatever was requested. Undefined: the model's limit. */
  maxWholeOutputTokens?: number;
  /** The members that engines render into a prompt, in their order. */
  prefixMembers: readonly string[];
  /** Whether token counts use the body's own members, so that their long strings can be copied. */
  isAskedByBody: boolean;
}

/** The parts of a body that become prompt: they bound the prompt's tokens before any engine has counted. */
export interface PromptShape {
  /** Members whose text is the prompt, unchanged. */
  textMembers: string[];
  /** Members that a chat template formats. */
  templateMembers: string[];
  /** Messages, or texts to embed: each may cost tokens of its own. */
  parts: number;
  images: number;
  /** Bytes of inline images and of image addresses within the text members, which are not text. */
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
  /** The functions of namespaces, by their names on engines. */
  namespaced: ReadonlyMap<string, { namespace: string; name: string }>;
}

/** The form of a request for one model. */
export interface RequestForm {
  /** The written members that the model gets in another form. Undefined: the member is omitted. */
  readonly replaced: ReadonlyMap<string, unknown>;
  /** The fallback for the requested form, as named in trace and log. */
  readonly fallback?: 'json_object_fallback';
}

/** The form of a request without changes. */
export const AS_WRITTEN: RequestForm = { replaced: new Map() };

/** A checked request of any operation: the values for the router's decisions, and for the engine's body. */
export interface InferenceRequest {
  readonly operation: Operation;
  model: string;
  isStream: boolean;
  /** Whether the client requested the usage chunk. Billing never depends on it. */
  includeUsage: boolean;
  isToolForced: boolean;
  /** Whether a longer output than fits the window is shortened. Engines refuse it otherwise. */
  isOutputFitted?: boolean;
  /** The request as the answer repeats it, in the Responses API. */
  echo?: ResponsesEcho;
  /** Undefined if the client named no length; 0 if there is no output. */
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
  /** Returns the differences between the written request and the one for this model. */
  formFor(model: PricedModel): RequestForm;
  /**
   * Returns one or several token count requests for the prompt. Images that are not fetched are omitted, because an
   * engine would fetch them. Each counts as the model's most.
   */
  tokenizeQuestions(): object[];
}

/**
 * Returns an engine's count of the prompt, or undefined if no engine gives one in time. It is exact except for images
 * that are not fetched, which count as the model's most. Throws `key_bound_reached` if the workspace has too many
 * counts in progress, and `overloaded` if all workspaces together have.
 */
export type CountPromptTokens = (
  request: InferenceRequest,
  model: PricedModel,
  owner: SlotOwner,
) => Promise<number | undefined>;
