/** An answer as it stands between others on a connection. */
export interface Answer {
  status: number;
  headers: string;
  body: string;
}

/** Cuts what came back on a connection into its answers. `rest` is what is no whole answer. */
export function cutAnswers(text: string): { answers: Answer[]; rest: string } {
  const answers: Answer[] = [];
  let rest = text;
  for (;;) {
    const cut = cutFirst(rest);
    if (cut === undefined) return { answers, rest };
    rest = rest.slice(cut.length);
    if (cut.answer.status >= 200) answers.push(cut.answer);
  }
}

function cutFirst(text: string): { answer: Answer; length: number } | undefined {
  const [head, status] = /^HTTP\/1\.1 (\d{3}) [^\r\n]*\r\n(?:[!-~]+: [^\r\n]*\r\n)*\r\n/.exec(text) ?? [];
  if (head === undefined) return undefined;
  const body = Number(status) < 200 ? { text: '', length: 0 } : cutBody(head.toLowerCase(), text.slice(head.length));
  if (body === undefined) return undefined;
  return {
    answer: { status: Number(status), headers: head.toLowerCase(), body: body.text },
    length: head.length + body.length,
  };
}

function cutBody(head: string, text: string): { text: string; length: number } | undefined {
  const [, stated] = /\r\ncontent-length: (\d+)\r\n/.exec(head) ?? [];
  if (stated !== undefined) {
    const length = Number(stated);
    return text.length < length ? undefined : { text: text.slice(0, length), length };
  }
  if (!head.includes('\r\ntransfer-encoding: chunked\r\n')) return undefined;
  let body = '';
  let at = 0;
  for (;;) {
    const [line, digits] = /^([0-9a-f]+)\r\n/.exec(text.slice(at)) ?? [];
    if (line === undefined || digits === undefined) return undefined;
    const size = Number.parseInt(digits, 16);
    const chunk = text.slice(at + line.length, at + line.length + size);
    at += line.length + size + 2;
    if (chunk.length < size || text.slice(at - 2, at) !== '\r\n') return undefined;
    if (size === 0) return { text: body, length: at };
    body += chunk;
  }
}
