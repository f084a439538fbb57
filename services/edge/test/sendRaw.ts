import { connect } from 'node:net';

/**
 * Sends raw bytes, for requests that no client would write. Resolves with everything that came back before the close.
 */
export function sendRaw(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    let answer = '';
    socket.setEncoding('utf8');
    socket.on('data', (chunk) => {
      answer += chunk;
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(answer));
  });
}

/** A request with a raw target and header lines; the connection closes after the answer. */
export function sendTarget(
  port: number,
  { method = 'GET', target, headers = [] }: { method?: string; target: string; headers?: string[] },
): Promise<{ status: number; head: string; body: string }> {
  const lines = [`${method} ${target} HTTP/1.1`, 'Host: api.example', ...headers, 'Connection: close'];
  return sendRaw(port, `${lines.join('\r\n')}\r\n\r\n`).then((answer) => {
    const [head = '', body = ''] = answer.split('\r\n\r\n', 2);
    return { status: Number(head.split(' ', 2)[1]), head, body };
  });
}
