import { parseJson } from './parseJson.ts';

/** Checks a stream of server-sent events as its bytes pass. What it finds is told at once, each time. */
export interface EventChecker {
  push(bytes: Uint8Array): string[];
  /** The stream came to its own end, which has to be `[DONE]` or an error. */
  end(): string[];
}

type Ending = 'none' | 'done' | 'error';

/** Takes the events of one stream apart and gives the JSON of each to `checkJson`. */
export function createEventChecker(checkJson: (value: unknown) => string[]): EventChecker {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let rest = '';
  let ending: Ending = 'none';

  function checkEvent(event: string): string[] {
    if (event.startsWith(':') && !event.includes('\n')) return [];
    if (!event.startsWith('data: ') || event.includes('\n')) return [`has what is no event: ${event}`];
    if (ending !== 'none') return [`goes on after its ${ending === 'done' ? '[DONE]' : 'error'}: ${event}`];
    const data = event.slice('data: '.length);
    if (data === '[DONE]') {
      ending = 'done';
      return [];
    }
    const value = parseJson(data);
    if (value === undefined) return [`has an event that is no JSON: ${data}`];
    if (typeof value === 'object' && value !== null && 'error' in value) ending = 'error';
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
      return ending === 'none' ? ['ends as if whole, with neither [DONE] nor an error'] : [];
    },
  };
}
