/** An answer as it came, less what the transport adds. */
interface Answer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

interface Transcript {
  method: string;
  path: string;
  body: string;
  answer: Answer;
}

/** Reads a kept transcript: the request's line and body, an empty line, the status, the headers, an empty line, the body. */
export function parseTranscript(text: string): Transcript {
  const [request = '', rest = ''] = splitOnce(text, '\n\n');
  const [line = '', body = ''] = splitOnce(request, '\n');
  const [method = '', path = ''] = line.split(' ');
  const [head = '', answerBody = ''] = splitOnce(rest, '\n\n');
  const [status, ...headers] = head.split('\n');
  const toPair = (header: string) => splitOnce(header, ': ');
  return {
    method,
    path,
    body,
    answer: { status: Number(status), headers: Object.fromEntries(headers.map(toPair)), body: answerBody.slice(0, -1) },
  };
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at + separator.length)];
}

/** Returns the parts of an answer that do not depend on the model's words: status, headers, and the shape of body or events. */
export function shapeOf({ status, headers, body }: Answer): object {
  if (!headers['content-type']?.startsWith('text/event-stream')) return { status, headers, body: shapeOfText(body) };
  const events = body.split('\n\n').map((event) => shapeOfText(event.replace(/^data: /, '')));
  // Consecutive deltas count as one, because their number depends on the text.
  return { status, headers, events: events.filter((event, index) => event !== events[index - 1]) };
}

function shapeOfText(text: string): string {
  try {
    return shapeOfValue(JSON.parse(text));
  } catch {
    return text;
  }
}

/** Kinds of values that are kept to the word: what a refusal says, and what decides how an answer is read. */
const VERBATIM = new Set(['object', 'role', 'type', 'param', 'code', 'finish_reason', 'stop_reason', 'detail']);

function shapeOfValue(value: unknown, key = ''): string {
  if (Array.isArray(value)) return `[${[...new Set(value.map((item) => shapeOfValue(item)))].join('|')}]`;
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).map(([name, member]) => `${name}:${shapeOfValue(member, name)}`);
    return `{${members.join(',')}}`;
  }
  if (value === null || VERBATIM.has(key)) return JSON.stringify(value);
  return key === 'message' ? JSON.stringify(sentenceOf(String(value))) : typeof value;
}

/** The beginning of a refusal: what follows repeats the request, in the words of the framework below the engine. */
const sentenceOf = (message: string): string =>
  message.split(/\n|: \{/)[0]?.replace(/^\d+ validation errors?:/, 'validation error:') ?? '';
