import { parseJson } from './parseJson.ts';

/** Checks a stream of server-sent events as its bytes pass. What it finds is told at once, each time. */
export interface EventChecker {
  push(bytes: Uint8Array): string[];
  /** The stream came to its own end, which has to be said, or an error. */
  end(): string[];
}

/**
 * How streams end: with `[DONE]`, or with an event of a type that says so, as those of media do (`type`). Events of the Responses and the
 * Messages API also have their type as a name (`name`).
 */
export type StreamEnd = '[DONE]' | 'type' | 'name';

/** `perhaps`: one of several of which the last is the end. */
type Ending = 'none' | 'perhaps' | 'done' | 'error';

function endingOf(value: unknown, streamEnd: StreamEnd): Ending {
  if (typeof value !== 'object' || value === null) return 'none';
  if (streamEnd === 'name') return 'type' in value ? (NAMED_ENDS[String(value.type)] ?? 'none') : 'none';
  if ('error' in value) return 'error';
  if (streamEnd !== 'type' || !('type' in value)) return 'none';
  if (String(value.type).endsWith('.done')) return 'done';
  return String(value.type).endsWith('.completed') ? 'perhaps' : 'none';
}

const NAMED_ENDS: Readonly<Record<string, Ending>> = {
  'response.completed': 'done',
  'response.incomplete': 'done',
  'response.failed': 'error',
  message_stop: 'done',
  error: 'error',
};

/** Lines that fill a silence. No blank line follows one. */
const COMMENTS = /^(?::.*\n)+/;

/** Takes the events of one stream apart and gives the JSON of each to `checkJson`. */
export function createEventChecker(
  checkJson: (value: unknown) => string[],
  streamEnd: StreamEnd = '[DONE]',
): EventChecker {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let rest = '';
  let ending: Ending = 'none';

  function checkEvent(text: string): string[] {
    const named = text.replace(COMMENTS, '');
    const [name = ''] = streamEnd === 'name' ? (/^event: \S+\n/.exec(named) ?? []) : [];
    const event = named.slice(name.length);
    if (!event.startsWith('data: ') || event.includes('\n')) return [`has what is no event: ${event}`];
    if (ending === 'done') return [`goes on after its end: ${event}`];
    if (ending === 'error') return [`goes on after its error: ${event}`];
    const data = event.slice('data: '.length);
    if (data === '[DONE]' && streamEnd === '[DONE]') {
      ending = 'done';
      return [];
    }
    const value = parseJson(data);
    if (value === undefined) return [`has an event that is no JSON: ${data}`];
    ending = endingOf(value, streamEnd);
    if (streamEnd === 'name' && name !== `event: ${(value as { type?: string } | null)?.type}\n`)
      return [`has an event under another name than its own: ${named}`];
    return checkJson(value).map((problem) => `${problem}, in the event ${data}`);
  }

  return {
    push(bytes) {
      const events = (rest + decoder.decode(bytes, { stream: true })).split('\n\n');
      rest = events.pop() ?? '';
      return events.flatMap(checkEvent);
    },
    end() {
      if (rest !== '') return [`ends within an event: ${rest}`];
      return ending === 'none' ? ['ends as if whole, with neither an end of its own nor an error'] : [];
    },
  };
}
