import type { NanoUsd } from '@turnpike/money/nanoUsd';
import type { FinishReason } from '@turnpike/public-api/generatedAnswer';
import type { WireError } from '@turnpike/public-api/wireError';
import type { EngineUsage } from '../../money/call/openCalls.ts';
import type { ResponsesEcho } from '../../request/inferenceRequest.ts';
import type { AnswerIdentity, ShownUsage } from '../fields/answerFields.ts';

/** Terms of an answer apart from the engine's output. */
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
  /** Whether the client requested usage. */
  includeUsage: boolean;
}

/** The end of a complete stream. */
export interface StreamFinish {
  finishReason: FinishReason;
  /** The text of `stop` that ended it. Undefined if none did, or if the engine does not report it. */
  stopText: string | undefined;
  /** Undefined if the engine gave no final count. */
  usage: ShownUsage | undefined;
}

/** A field of a value that has one text only, as most values do. */
export type PlainField = 'content' | 'reasoning' | 'text';

/** The bytes around a plain value's text. */
export interface PlainFrame {
  /** The text goes once into each gap. */
  parts: readonly string[];
  /** Returns the beginning of each event, if events differ there. `text` is JSON text without its quotes. */
  begin?: (text: Buffer) => string;
}

/**
 * Writes the events of one stream in the format of one API. Each returned text is complete events, ready to send. One
 * encoder serves all attempts at a call, because its events have been sent.
 */
export interface StreamEncoder<Value = unknown> {
  /** Returns the events for new content. `counted` is the engine's count so far; undefined if there is none yet. */
  write(identity: AnswerIdentity, value: Value, counted: ShownUsage | undefined): string;
  /**
   * Returns the frame for plain values after the one just written. Returns undefined if such events differ in more than
   * text and beginning.
   */
  framePlain(identity: AnswerIdentity, field: PlainField): PlainFrame | undefined;
  /** Returns the last events of a complete stream. */
  finish(identity: AnswerIdentity, end: StreamFinish): string;
  /** Returns the last event of a failed stream. */
  fail(error: WireError): string;
}

/** Edits the values of one stream: the new content of each chunk. */
export interface ValueEditor<Value = unknown> {
  /** Returns the client's value; undefined if the engine's is malformed. */
  edit(value: unknown): Value | undefined;
  /** Whether any tool call has been shown. */
  readonly hasToolCall: boolean;
  /** Whether a tool call has no name yet, or tool calls exceed the limits of an answer. */
  readonly hasUnshowableCall: boolean;
}

/** The reader of an operation's chunks, and their writer for clients. */
export interface ChunkShape<Value = unknown> {
  /** The event that fills a silence; undefined for a comment line. */
  keepAlive?: Buffer;
  /** Prefix of an id that the engine left out. */
  idPrefix: string;
  /** The key of the new content in each of the engine's chunks. */
  valueKey: 'delta' | 'text';
  /** A value without content. */
  emptyValue: Value;
  createValueEditor(): ValueEditor<Value>;
  /** Creates the writer of one call's events. */
  createEncoder(terms: EncoderTerms): StreamEncoder<Value>;
}
