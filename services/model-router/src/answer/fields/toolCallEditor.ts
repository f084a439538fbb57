import { randomBytes } from 'node:crypto';
import type { ToolCall } from '@turnpike/public-api/chatAnswer';
import { isObject, MAX_ID_LENGTH } from './answerFields.ts';

/** Most calls in one answer, and most of all their arguments before a name. A prompt can make a model write more. */
const MAX_CALLS = 1_024;
const MAX_WAITING_LENGTH = 65_536;

interface OpenToolCall {
  /** As the client counts. */
  index: number;
  id: string;
  /** Whether its first delta, the one with its name, has been shown. */
  hasBegun: boolean;
  /** Arguments that came before the name. */
  waitingArguments: string;
}

/** A part of a call as the client gets it: the first is a call by itself, a later one has arguments alone. */
export type ToolCallDelta = { index: number } & (
  | ToolCall
  | { id?: undefined; type?: undefined; function: { name?: undefined; arguments: string } }
);

/**
 * Turns an engine's tool call deltas into the convention's: `index` counts the calls from 0 in the order in which they
 * first appear, the first delta of each has its `id`, `type` and name, the later ones have arguments alone, and arguments
 * are always text. An id that the engine does not give is invented. Engines leave ids out, repeat names and number as
 * they like, each release in its own way.
 */
export class ToolCallEditor {
  /** By the engine's own index, or by its id where it has none. */
  readonly #calls = new Map<number | string, OpenToolCall>();
  readonly #ids = new Set<string>();
  #latestKey: number | string = 0;
  /** Of all arguments that came before a name. */
  #waitingLength = 0;
  #isOverfull = false;
  /** Whether any call has been shown. Changed here alone. */
  hasCall = false;

  /** Whether a call has no name yet, or there are too many calls, or arguments without a name. */
  get hasUnshowable(): boolean {
    return this.#isOverfull || this.#calls.values().some(({ hasBegun }) => !hasBegun);
  }

  /** The client's deltas, which may be none. Undefined where the engine's are none at all, or too many. */
  edit(entries: readonly unknown[]): ToolCallDelta[] | undefined {
    const deltas: ToolCallDelta[] = [];
    for (const entry of entries) {
      if (!isObject(entry)) return undefined;
      const named = isObject(entry.function) ? entry.function : {};
      const call = this.#findOrOpen(entry);
      if (!call) return undefined;
      const text = toArgumentsText(named.arguments);
      const delta = toDelta(call, named.name, text);
      this.hasCall ||= call.hasBegun;
      if (delta) deltas.push(delta);
      else if (!call.hasBegun) this.#waitingLength += text.length;
      if (this.#waitingLength > MAX_WAITING_LENGTH) return this.#refuse();
    }
    return deltas;
  }

  #refuse(): undefined {
    this.#isOverfull = true;
  }

  #findOrOpen({ index, id }: Record<string, unknown>): OpenToolCall | undefined {
    const givenId = typeof id === 'string' && id !== '' && id.length <= MAX_ID_LENGTH ? id : undefined;
    const key = typeof index === 'number' ? index : (givenId ?? this.#latestKey);
    this.#latestKey = key;
    const known = this.#calls.get(key);
    if (known) return known;
    if (this.#calls.size === MAX_CALLS) return this.#refuse();
    // A tool's answer names the id of its call, so no two calls may have the same one.
    const isUsable = givenId !== undefined && !this.#ids.has(givenId);
    const call: OpenToolCall = {
      index: this.#calls.size,
      id: isUsable ? givenId : `call_${randomBytes(12).toString('hex')}`,
      hasBegun: false,
      waitingArguments: '',
    };
    this.#calls.set(key, call);
    this.#ids.add(call.id);
    return call;
  }
}

/** The call's next delta. Undefined where there is nothing new to tell, or no name to begin with. */
function toDelta(call: OpenToolCall, name: unknown, text: string): ToolCallDelta | undefined {
  const { index, id } = call;
  if (call.hasBegun) return text === '' ? undefined : { index, function: { arguments: text } };
  if (typeof name !== 'string' || name === '') {
    call.waitingArguments += text;
    return undefined;
  }
  call.hasBegun = true;
  return { index, id, type: 'function', function: { name, arguments: call.waitingArguments + text } };
}

/** Some engines write the arguments as the object that the text stands for. */
function toArgumentsText(given: unknown): string {
  if (typeof given === 'string') return given;
  return given === undefined || given === null ? '' : JSON.stringify(given);
}
