import { DEFAULT_FAULT_AFTER_TOKENS, type Fault, faultKindSchema } from '../faults/fault.ts';

/** The requests of `[[sim: …]]` in a request's text (README, Directives). */
export interface Directives {
  /** Completion tokens in all, the stop token included. */
  tokens?: number;
  text?: string;
  reasoning?: string;
  timeToFirstTokenMs?: number;
  interTokenMs?: number;
  toolCalls: { name: string; argumentsText?: string }[];
  forbidsToolCall: boolean;
  fault?: Fault;
}

/** An unknown directive. It is refused like a malformed request, so that its test notices. */
export class DirectiveError extends Error {
  override name = 'DirectiveError';
}

/** `key`, `key=word` or `key="text"` with `\"`, `\\` and `\n` inside, then the rest; or the end of the directive. */
const SETTING = /\s*(?:(\]\])|([a-z_]+)(?:=(?:"((?:[^"\\]|\\.)*)"|([^\s"\]]+)))?)/sy;
const OPENING = '[[sim:';

/**
 * Reads every directive of `message`; later ones win, tool calls add up. One that begins with `turn=N` counts in that turn of the
 * model's alone. Throws a `DirectiveError`.
 */
export function parseDirectives(message: string, turn = 1): Directives {
  const directives: Directives = { toolCalls: [], forbidsToolCall: false };
  let afterTokens = DEFAULT_FAULT_AFTER_TOKENS;
  for (let at = message.indexOf(OPENING); at >= 0; at = message.indexOf(OPENING, SETTING.lastIndex)) {
    SETTING.lastIndex = at + OPENING.length;
    let read = directives;
    for (;;) {
      const match = SETTING.exec(message);
      if (!match) throw new DirectiveError('simulator directive is not closed or not understood');
      const [, closing, key = '', quoted, word] = match;
      if (closing) break;
      const value = quoted === undefined ? word : unescapeQuoted(quoted);
      if (key === 'turn') read = toCount(key, value) === turn ? directives : { toolCalls: [], forbidsToolCall: false };
      else if (key === 'after') afterTokens = toCount(key, value);
      else apply(read, key, value);
    }
  }
  if (directives.fault) directives.fault.afterTokens = afterTokens;
  return directives;
}

function apply(directives: Directives, key: string, value: string | undefined): void {
  switch (key) {
    case 'tokens':
      directives.tokens = toCount(key, value);
      return;
    case 'text':
    case 'reasoning':
      directives[key] = value ?? '';
      return;
    case 'ttft_ms':
      directives.timeToFirstTokenMs = toCount(key, value);
      return;
    case 'itl_ms':
      directives.interTokenMs = toCount(key, value);
      return;
    case 'tool_call':
      directives.toolCalls.push({ name: value ?? '' });
      return;
    case 'tool_arguments': {
      const call = directives.toolCalls.at(-1);
      if (!call) throw new DirectiveError('simulator directive tool_arguments wants a tool_call before it');
      call.argumentsText = value ?? '';
      return;
    }
    case 'no_tool_call':
      directives.forbidsToolCall = true;
      return;
    case 'fault': {
      const kind = faultKindSchema.safeParse(value);
      if (!kind.success) throw new DirectiveError(`simulator fault ${value} does not exist`);
      directives.fault = { kind: kind.data, afterTokens: DEFAULT_FAULT_AFTER_TOKENS };
      return;
    }
    default:
      throw new DirectiveError(`simulator directive ${key} does not exist`);
  }
}

function toCount(key: string, value: string | undefined): number {
  if (value === undefined || !/^\d{1,9}$/.test(value)) {
    throw new DirectiveError(`simulator directive ${key} wants a whole number`);
  }
  return Number(value);
}

const unescapeQuoted = (quoted: string): string =>
  quoted.replace(/\\(.)/gs, (_match, character: string) => (character === 'n' ? '\n' : character));
