import { describe, expect, it } from '@jest/globals';
import { ResponseReader } from './responseReader.ts';

/** Reads an answer that comes in pieces of so many bytes, each into the same memory. */
function readInPieces(text: string, size: number) {
  const reader = new ResponseReader();
  const memory = Buffer.alloc(size);
  const parts: Buffer[] = [];
  for (let at = 0; at < text.length; at += size) {
    const length = memory.write(text.slice(at, at + size), 'latin1');
    const part = reader.read(memory.subarray(0, length));
    if (part) parts.push(Buffer.from(part));
  }
  const { isWhole, isPersistent } = reader;
  return { ...reader.takeHead(), body: Buffer.concat(parts).toString('latin1'), isWhole, isPersistent, reader };
}

const CHUNKED = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';

describe.each([1, 2, 3, 7, 65_536])('in pieces of %i bytes', (size) => {
  it.each<[string, string, object]>([
    [
      'of a stated length',
      'HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\nX-A:  b c \r\n\r\n{}',
      { status: 404, headers: ['content-length', '2', 'x-a', 'b c'], body: '{}', isPersistent: true },
    ],
    ['of no length', 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n', { status: 200, body: '', isPersistent: true }],
    ['without a body', 'HTTP/1.1 204 No Content\r\n\r\n', { status: 204, body: '', isPersistent: true }],
    ['behind an interim one', 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 \r\n\r\n', { status: 204, body: '' }],
    [
      'behind as many interim ones as may be',
      `${'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'.repeat(32)}HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\na`,
      { status: 200, headers: ['content-length', '1'], body: 'a', isPersistent: true },
    ],
    [
      'without a body, whose length another request would have',
      'HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n',
      { status: 304, body: '', isPersistent: true },
    ],
    ['without a body, and of length 0', 'HTTP/1.1 204 \r\ncontent-length: 0\r\n\r\n', { status: 204, body: '' }],
    ['in chunks', `${CHUNKED}3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n`, { body: 'abc0123456789', isPersistent: true }],
    [
      'in chunks with extensions and trailers',
      `${CHUNKED}1;a=b\r\na\r\n0;c\r\nx-a: b\r\nx-c: d\r\n\r\n`,
      { body: 'a', isPersistent: true },
    ],
    [
      'that is the connection’s last',
      'HTTP/1.1 200 OK\r\nConnection: close\r\ncontent-length: 1\r\n\r\na',
      { body: 'a', isPersistent: false },
    ],
    ['of HTTP/1.0', 'HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\na', { body: 'a', isPersistent: false }],
  ])('reads an answer %s', (_case, text, expected) => {
    expect(readInPieces(text, size)).toMatchObject({ isWhole: true, ...expected });
  });

  it('reads to the end of the connection where nothing says how long an answer is', () => {
    const { reader, ...rest } = readInPieces('HTTP/1.1 200 OK\r\n\r\nto the end', size);
    expect(rest).toMatchObject({ body: 'to the end', isWhole: false, isPersistent: false });
    expect(reader.end()).toBe(true);
  });

  it.each([
    ['within its head', 'HTTP/1.1 200 OK\r\ncontent-le'],
    ['within a stated length', 'HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nab'],
    ['within a chunk', `${CHUNKED}3\r\nab`],
    ['before the last chunk', `${CHUNKED}3\r\nabc\r\n`],
    ['within the last chunk', `${CHUNKED}0\r\n`],
  ])('does not take an answer for whole that ends %s', (_case, text) => {
    const { reader, isWhole } = readInPieces(text, size);
    expect([isWhole, reader.end()]).toEqual([false, false]);
  });

  it.each([
    ['no answer', 'hello, who is there?\r\n\r\n'],
    ['another version', 'HTTP/2.0 200 OK\r\n\r\n'],
    ['another protocol', 'HTTP/1.1 101 Switching Protocols\r\n\r\n'],
    ['a line that is no header', 'HTTP/1.1 200 OK\r\nhello\r\n\r\n'],
    ['a folded header', 'HTTP/1.1 200 OK\r\na: b\r\n c: d\r\n\r\n'],
    ['a bare CR in its status line', 'HTTP/1.1 200 O\rK\r\n\r\n'],
    ['a bare LF in its status line', 'HTTP/1.1 200 OK\ncontent-length: 0\r\n\r\n'],
    ['a bare CR in a value', 'HTTP/1.1 200 OK\r\na: b\rc: d\r\n\r\n'],
    ['a bare LF in a value', 'HTTP/1.1 200 OK\r\na: b\ncontent-length: 1\r\n\r\na'],
    ['a bare CR before a line end', 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\r\n\r\n'],
    ['a NUL in a value', 'HTTP/1.1 200 OK\r\na: b\0\r\n\r\n'],
    ['a length within letters that some take for spaces', 'HTTP/1.1 200 OK\r\ncontent-length:\u00a01\r\n\r\na'],
    ['a header without a name', 'HTTP/1.1 200 OK\r\n: b\r\n\r\n'],
    ...['a b', 'a"', '(a)', 'a,b', 'a/b', 'a@b', 'a[b]', '{a}', 'a\\b', 'ä', 'a\t', 'a\rb'].map((name) => [
      `the letters of ${JSON.stringify(name)} in a name`,
      `HTTP/1.1 200 OK\r\n${name}: b\r\n\r\n`,
    ]),
    ['an LF without a CR behind a size', `${CHUNKED}1\na\r\n0\r\n\r\n`],
    ['a CR within a size line', `${CHUNKED}1\r\r\na\r\n0\r\n\r\n`],
    ['a CR within an extension', `${CHUNKED}1;a\rb\r\na\r\n0\r\n\r\n`],
    ['an LF without a CR behind an extension', `${CHUNKED}1;a\na\r\n0\r\n\r\n`],
    ['an LF without a CR behind a chunk', `${CHUNKED}1\r\na\n0\r\n\r\n`],
    ['two CRs behind a chunk', `${CHUNKED}1\r\na\r\r\n0\r\n\r\n`],
    ['an LF without a CR behind the last chunk', `${CHUNKED}0\r\n\n`],
    ['a bare CR in a trailer', `${CHUNKED}0\r\na: b\rc\r\n\r\n`],
    ['a NUL in an extension', `${CHUNKED}1;a=\0\r\na\r\n0\r\n\r\n`],
    ['a NUL in a trailer', `${CHUNKED}0\r\na: \0\r\n\r\n`],
    ['a trailer that is no header', `${CHUNKED}0\r\nHTTP/1.1 200 OK\r\n\r\n`],
    ['trailers that end in an LF', `${CHUNKED}0\r\na: b\n\n`],
    ['letters between a size and its line end', `${CHUNKED}1\rJUNK\na\r\n0\r\n\r\n`],
    ['chunks of HTTP/1.0', 'HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['a length of an answer without a body', 'HTTP/1.1 204 No Content\r\ncontent-length: 5\r\n\r\n'],
    ['chunks of an answer without a body', 'HTTP/1.1 204 No Content\r\ntransfer-encoding: chunked\r\n\r\n'],
    ['a length of an interim answer', 'HTTP/1.1 103 Early Hints\r\ncontent-length: 5\r\n\r\n'],
    ['a bare LF in an interim answer', 'HTTP/1.1 103 Early Hints\r\na: b\n\nHTTP/1.1 200 OK\r\n\r\n'],
    ['interim answers without end', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(33)],
    ['a space before the colon', 'HTTP/1.1 200 OK\r\ncontent-length : 1\r\n\r\na'],
    ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 1\r\n\r\na'],
    ['a signed length', 'HTTP/1.1 200 OK\r\ncontent-length: +1\r\n\r\na'],
    ['two framings', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\na'],
    ['another coding', 'HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n'],
    ['bytes behind its length', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nab'],
    ['bytes behind its last chunk', `${CHUNKED}0\r\n\r\nH`],
    ['a chunk without a size', `${CHUNKED}\r\nabc`],
    ['a size that is no number', `${CHUNKED}0x3\r\nabc`],
    ['a size too large to count', `${CHUNKED}${'f'.repeat(14)}\r\nabc`],
    ['a chunk longer than its size', `${CHUNKED}1\r\nab\r\n`],
    ['a head without end', `HTTP/1.1 200 OK\r\na: ${'b'.repeat(17_000)}\r\n\r\n`],
    ['trailers without end', `${CHUNKED}0\r\n${'a: b\r\n'.repeat(3_000)}\r\n`],
  ])('throws at %s', (_case, text) => {
    expect(() => readInPieces(text, size)).toThrow(/^(?!.*undefined)/);
  });
});
