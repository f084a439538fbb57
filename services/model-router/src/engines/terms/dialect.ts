import type { Pool } from 'undici';
import type { EngineFault } from '../../api/inferenceFault.ts';
import type { PricedModel } from '../../catalog/catalog.ts';
import type { ProbeResult } from '../../health/engineHealth.ts';
import type { InferenceRequest } from '../../request/inferenceRequest.ts';

/** The models that an engine serves. */
export interface ServedModels {
  /** Model names that it answers to, its own model's first. */
  names: string[];
  /** Limit of prompt and answer together, in tokens. Undefined if not reported. */
  windowTokens: number | undefined;
}

/** An engine's report of its load. A value that it does not report is undefined, never 0. */
export interface EngineReport {
  /** Time of the report, by `performance.now()`. */
  atMs: number;
  /** Requests that run and wait on the engine, from any sender. */
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

/** A call of the router's own that tests whether a slow engine still is slow. No client waits for it or pays. */
export interface Trial {
  /** Tokens of its prompt, about; none of them may be cached. */
  readonly promptTokens: number;
  readonly outputTokens: number;
  /** Called at the engine's first event. */
  onFirstEvent(): void;
  /** Ends the call. `completionTokens` are undefined if it was not answered to its end. */
  end(completionTokens: number | undefined): void;
}

/** The connection to an engine for the router's own requests. */
export type EngineConnection = Pick<Pool, 'request'>;

/** The fields of a call's body that the router sets. */
export interface EngineCallFields {
  model: PricedModel;
  servedName: string;
  maxOutputTokens: number;
  cacheSalt: string;
}

/** The protocol of one kind of engine. Its paths, fields, metric names and messages are defined here only. */
export interface Dialect {
  /** The body of a call, in pieces. Throws if an image that is not inline was not fetched. */
  toBody(request: InferenceRequest, fields: EngineCallFields): Buffer[];
  /** Returns the meaning of an engine's error for the client: its status, and its body without the router's own fields. */
  toFault(status: number, body: Buffer, sent: Pick<EngineCallFields, 'cacheSalt'>): EngineFault;
  /**
   * Reads the served models. Rejects with `UnwellEngine` if the engine reports that it is unhealthy, or with another
   * error if it does not answer.
   */
  readServed(engine: EngineConnection, signal: AbortSignal): Promise<ServedModels>;
  /** Reads the release. Resolves undefined if it is not reported. Rejects if the engine does not answer. */
  readVersion(engine: EngineConnection, signal: AbortSignal): Promise<string | undefined>;
  /** Reads the load. Resolves undefined if it is not reported. Rejects if the engine does not answer. */
  readReport(engine: EngineConnection, signal: AbortSignal): Promise<EngineReport | undefined>;
  /** Makes the engine produce one token, or one vector, under a served name. Never rejects. */
  produceToken(engine: EngineConnection, servedName: string): Promise<ProbeResult>;
  /** Sends a trial under a served name, and ends the trial in every case. Never rejects. */
  sendTrial(engine: EngineConnection, servedName: string, trial: Trial): Promise<void>;
  /**
   * Makes the engine's tokenizer count the prompt of one question of a request. Rejects with `RefusedQuestion` if every
   * engine would refuse.
   */
  countTokens(
    engine: EngineConnection,
    asked: { request: InferenceRequest; question: object; servedName: string | undefined },
    signal: AbortSignal,
  ): Promise<number>;
}

/** The engine answered a check and reported that it is unhealthy. */
export class UnwellEngine extends Error {
  override name = 'UnwellEngine';
}

/** The engine refused a question that every other engine would refuse too. */
export class RefusedQuestion extends Error {
  override name = 'RefusedQuestion';
}
