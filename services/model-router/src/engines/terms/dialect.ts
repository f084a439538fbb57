import type { Pool } from 'undici';
import type { EngineFault } from '../../api/inferenceFault.ts';
import type { PricedModel } from '../../catalog/catalog.ts';
import type { ProbeResult } from '../../health/engineHealth.ts';
import type { InferenceRequest } from '../../request/inferenceRequest.ts';

/** The models that an engine serves. */
export interface ServedModels {
  /** Names it answers to, its own model's first. */
  names: string[];
  /** Tokens that prompt and answer have together; undefined where it does not say. */
  windowTokens: number | undefined;
}

/** An engine's report of its load. A value that it does not report is undefined, never 0. */
export interface EngineReport {
  /** When it was read, by `performance.now()`. */
  atMs: number;
  /** Requests that run and wait there, whoever sent them. */
  running: number | undefined;
  waiting: number | undefined;
  /** Part of the key-value cache in use, 0 to 1. */
  cacheUsage: number | undefined;
  /** Tokens that the key-value cache holds. */
  cacheTokens: number | undefined;
  /** Prompt tokens looked up in the prefix cache since the engine started, and how many of them were there. */
  prefixQueries: number | undefined;
  prefixHits: number | undefined;
  isAsleep: boolean;
}

/** A call of the router's own, which tells whether an engine that was slow still is. No client waits for it, or pays. */
export interface Trial {
  /** Tokens of its prompt, about; none of them may be cached. */
  readonly promptTokens: number;
  readonly outputTokens: number;
  /** The engine's first event is here. */
  onFirstEvent(): void;
  /** Ends the call. `completionTokens` are undefined if it was not answered to its end. */
  end(completionTokens: number | undefined): void;
}

/** The connection to an engine, as questions of the router's own use it. */
export type EngineConnection = Pick<Pool, 'request'>;

/** The fields of a call's body that the router sets. */
export interface EngineCallFields {
  model: PricedModel;
  servedName: string;
  maxOutputTokens: number;
  cacheSalt: string;
}

/** How engines of one make are spoken to: their paths, fields, metric names and sentences stand nowhere else. */
export interface Dialect {
  /** The body of a call, in pieces. Throws if an image that is not inline was not fetched. */
  toBody(request: InferenceRequest, fields: EngineCallFields): Buffer[];
  /** Returns the meaning of an engine's error for the client: its status, and its body without the router's own fields. */
  toFault(status: number, body: Buffer, sent: Pick<EngineCallFields, 'cacheSalt'>): EngineFault;
  /** Reads what it serves. Rejects with `UnwellEngine` where it answers that it is not well, and otherwise where it does not answer. */
  readServed(engine: EngineConnection, signal: AbortSignal): Promise<ServedModels>;
  /** Its release; undefined where it does not say. Rejects where it does not answer. */
  readVersion(engine: EngineConnection, signal: AbortSignal): Promise<string | undefined>;
  /** Its load; undefined where it says nothing of it. Rejects where it does not answer. */
  readReport(engine: EngineConnection, signal: AbortSignal): Promise<EngineReport | undefined>;
  /** Makes the engine produce one token, or one vector, under a name it serves. Never rejects. */
  produceToken(engine: EngineConnection, servedName: string): Promise<ProbeResult>;
  /** Sends it a trial under a name it serves, and ends the trial in any case. Never rejects. */
  sendTrial(engine: EngineConnection, servedName: string, trial: Trial): Promise<void>;
  /**
   * Makes the engine's tokenizer count the prompt of one of a request's questions. Rejects with `RefusedQuestion` if every engine
   * would refuse.
   */
  countTokens(
    engine: EngineConnection,
    asked: { request: InferenceRequest; question: object; servedName: string | undefined },
    signal: AbortSignal,
  ): Promise<number>;
}

/** The engine answers a check, and says that it is not well. */
export class UnwellEngine extends Error {
  override name = 'UnwellEngine';
}

/** The engine says that a question is wrong: another one would say the same. */
export class RefusedQuestion extends Error {
  override name = 'RefusedQuestion';
}
