import type { NanoUsd } from '@turnpike/money/nanoUsd';
import type { FinishReason } from '@turnpike/public-api/generatedAnswer';
import type { WireError } from '@turnpike/public-api/wireError';
import type { EngineUsage } from '../../money/call/openCalls.ts';
import type { ResponsesEcho } from '../../request/inferenceRequest.ts';
import type { AnswerIdentity, ShownUsage } from '../fields/answerFields.ts';

/** Terms of an answer, beside what the engine writes. */
export interface AnswerTerms {
  callId: string;
  canonicalModel: string;
  /** The request as the answer repeats it, in the Responses API. */
  echo?: ResponsesEcho | undefined;
  isCacheCapable: boolean;
  /** The charge of a usage. */
  chargeOf: (usage: EngineUsage) => NanoUsd;
}

export interface EncoderTerms extends AnswerTerms {
  /** Whether the client asked to see the usage. */
  includeUsage: boolean;
}

/** How a whole stream ended. */
export interface StreamFinish {
  finishReason: FinishReason;
  /** The text of `stop` that ended it; undefined where none did, or the engine does not say. */
  stopText: string | undefined;
  /** Undefined where the engine gave no count for all of it. */
  usage: ShownUsage | undefined;
}

/** A field of a value that holds one text and nothing else, as most do. */
export type PlainField = 'content' | 'reasoning' | 'text';

/** The bytes around a plain value's text. */
export interface PlainFrame {
  /** The text stands once in each gap. */
  parts: readonly string[];
  /** Writes the beginning of each event, where it differs. `text` is as JSON has it, without its quotes. */
  begin?: (text: Buffer) => string;
}

/**
 * Writes the events of one stream in the form of one API. Each text that it returns is whole events, ready to be sent. It is the same
 * for all attempts at a call: what it was given has been sent.
 */
export interface StreamEncoder<Value = unknown> {
  /** The events for what is new. `counted` is the engine's count so far; undefined where there is none yet. */
  write(identity: AnswerIdentity, value: Value, counted: ShownUsage | undefined): string;
  /**
   * Returns the frame of the event of a plain value that follows the one just written. Undefined where such events differ in more than
   * their text and their beginning.
   */
  framePlain(identity: AnswerIdentity, field: PlainField): PlainFrame | undefined;
  /** The last events of a stream that is whole. */
  finish(identity: AnswerIdentity, end: StreamFinish): string;
  /** The last event of one that is not. */
  fail(error: WireError): string;
}

/** Edits the values of one stream, which are what is new in each chunk. */
export interface ValueEditor<Value = unknown> {
  /** The client's value; undefined where the engine's is none. */
  edit(value: unknown): Value | undefined;
  /** Whether any tool call has been shown. */
  readonly hasToolCall: boolean;
  /** Whether a tool call has no name yet, or tool calls are longer or more than an answer may have. */
  readonly hasUnshowableCall: boolean;
}

/** How the values of an operation's chunks are read, and what writes them for the client. */
export interface ChunkShape<Value = unknown> {
  /** The event that fills a silence; undefined where a comment line does. */
  keepAlive?: Buffer;
  /** Begins an id that the engine left out. */
  idPrefix: string;
  /** The key under which stands what is new in each of the engine's chunks. */
  valueKey: 'delta' | 'text';
  /** A value that tells nothing. */
  emptyValue: Value;
  createValueEditor(): ValueEditor<Value>;
  /** Makes what writes the events of one call. */
  createEncoder(terms: EncoderTerms): StreamEncoder<Value>;
}
