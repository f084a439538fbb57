/** The status and headers of a response. */
export interface ResponseHead {
  status: number;
  /** Names in lower case, each followed by its value, in the order they came. */
  headers: string[];
}

/** Longest head, and longest trailers. No service of ours sends nearly as much. */
const MAX_HEAD_BYTES = 16_384;
/** Most interim answers before one. */
const MAX_INTERIM_ANSWERS = 32;
const HEAD_END = '\r\n\r\n';
/** The end of the line with the last chunk's size. Followed by the trailers, if any, and an empty line, it ends like a head. */
const LINE_END = Buffer.from('\r\n');
/** A CR or an LF without the other. */
const HALF_LINE_END = /(?:^|[^\r])\n|\r[^\n]/;
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: [\t -~\u0080-\u00ff]*)?$/;
/** The letters that RFC 9110 has for a name and a value, without the spaces around the value. */
const HEADER_LINE = /^([!#$%&'*+.^_`|~\w-]+):[\t ]*((?:[\t -~\u0080-\u00ff]*[!-~\u0080-\u00ff])?)[\t ]*$/;
const LENGTH = /^\d{1,15}$/;
/** Hexadecimal digits of a chunk's size, which a number holds exactly. */
const MAX_SIZE_DIGITS = 13;
const NO_DIGIT = 255;
/** The value of each byte as a hexadecimal digit. */
const DIGITS = new Uint8Array(256).fill(NO_DIGIT);
for (const digits of ['0123456789abcdef', '0123456789ABCDEF'])
  for (const [value, digit] of [...digits].entries()) DIGITS[digit.charCodeAt(0)] = value;
const TAB = 9;
const LF = 10;
const CR = 13;
const SPACE = 32;
const SEMICOLON = 59;
const DELETE = 127;

/** The bytes do not form an answer of HTTP/1.1, or two readers could read them differently. */
class MalformedResponseError extends Error {
  override name = 'MalformedResponseError';
}

type Step =
  | 'head'
  | 'counted'
  | 'untilClose'
  | 'size'
  | 'extension'
  | 'sizeEnd'
  | 'chunk'
  | 'chunkEnd'
  | 'chunkEnded'
  | 'trailers';

/** Reads one answer of HTTP/1.1 to a request that is not `HEAD`, in whatever pieces it comes. */
export class ResponseReader {
  #head: ResponseHead | undefined;
  /** The head has come. */
  isBegun = false;
  isWhole = false;
  /** The service may be sent another request on the connection, after this answer. */
  isPersistent = false;
  #step: Step = 'head';
  /** The beginning of a head or of trailers. */
  #begun: Buffer | undefined;
  #interimAnswers = 0;
  /** Bytes left of the body, or of a chunk; while a size is read, what it is so far. */
  #left = 0;
  /** Digits of the size so far. */
  #digits = 0;
  /** Bytes of extensions since the last chunk. */
  #ignoredBytes = 0;

  /**
   * Reads what has come, and returns what there is of the body in it, where it came: chunks that came together are moved into
   * one. Throws a `MalformedResponseError`, after which the connection is of no use.
   */
  read(bytes: Buffer): Buffer | undefined {
    if (this.isWhole) throw new MalformedResponseError('bytes after the answer');
    const body = this.#step === 'head' ? this.#readHead(bytes) : bytes;
    if (body === undefined) return undefined;
    if (this.#step === 'untilClose') return body.length > 0 ? body : undefined;
    return this.#step === 'counted' ? this.#readCounted(body) : this.#readChunks(body);
  }

  /** The answer's head, once: a stream lasts for long, and nobody needs it again. Undefined until it is whole. */
  takeHead(): ResponseHead | undefined {
    const head = this.#head;
    this.#head = undefined;
    return head;
  }

  /** The service has ended its side of the connection. True if the answer is whole by that. */
  end(): boolean {
    if (this.#step === 'untilClose') this.isWhole = true;
    return this.isWhole;
  }

  /** Returns the bytes behind the head; undefined until it is whole. */
  #readHead(bytes: Buffer): Buffer | undefined {
    let section = this.#readSection(bytes);
    // An interim answer, such as 100, stands before the real one.
    while (section && !this.#takeHead(section.lines)) {
      this.#interimAnswers += 1;
      if (this.#interimAnswers > MAX_INTERIM_ANSWERS) throw new MalformedResponseError('too many interim answers');
      section = this.#readSection(section.rest);
    }
    return section?.rest;
  }

  /** Reads a head or trailers: returns the lines and the bytes behind them, undefined until they are whole. */
  #readSection(bytes: Buffer): { lines: string[]; rest: Buffer } | undefined {
    const unread = this.#begun === undefined ? bytes : Buffer.concat([this.#begun, bytes]);
    const end = unread.indexOf(HEAD_END, 0, 'latin1');
    if (end > MAX_HEAD_BYTES || (end < 0 && unread.length > MAX_HEAD_BYTES))
      throw new MalformedResponseError('head or trailers too large');
    this.#begun = end < 0 ? Buffer.from(unread) : undefined;
    if (end < 0 && HALF_LINE_END.test(unread.toString('latin1')))
      throw new MalformedResponseError('a line end that is not CR and LF');
    if (end < 0) return undefined;
    return { lines: unread.toString('latin1', 0, end).split('\r\n'), rest: unread.subarray(end + HEAD_END.length) };
  }

  /** Returns false for the head of an interim answer. */
  #takeHead([statusLine = '', ...lines]: string[]): boolean {
    const [, minor, code] = STATUS_LINE.exec(statusLine) ?? [];
    const status = Number(code);
    if (code === undefined || status === 101) throw new MalformedResponseError('no status line of HTTP/1.1');
    const headers: string[] = [];
    let length: string | undefined;
    let coding: string | undefined;
    let isLast = minor === '0';
    for (const line of lines) {
      const [name, value] = readHeader(line);
      if (name === 'content-length') {
        if (length !== undefined || !LENGTH.test(value)) throw new MalformedResponseError('no clear length');
        length = value;
      } else if (name === 'transfer-encoding') {
        if (coding !== undefined || value.toLowerCase() !== 'chunked')
          throw new MalformedResponseError('unknown coding');
        coding = value;
      } else if (name === 'connection' && value.toLowerCase().includes('close')) {
        isLast = true;
      }
      headers.push(name, value);
    }
    if (length !== undefined && coding !== undefined) throw new MalformedResponseError('two framings');
    if (coding !== undefined && minor === '0') throw new MalformedResponseError('chunks of HTTP/1.0');
    if ((status < 200 || status === 204) && (coding ?? length ?? '0') !== '0')
      throw new MalformedResponseError('a body where none may be');
    if (status < 200) return false;
    this.#head = { status, headers };
    this.isBegun = true;
    this.isPersistent = !isLast;
    if (status === 204 || status === 304) this.#expect(0);
    else if (coding !== undefined) this.#step = 'size';
    else if (length !== undefined) this.#expect(Number(length));
    else {
      this.#step = 'untilClose';
      this.isPersistent = false;
    }
    return true;
  }

  #expect(bytes: number): void {
    this.#step = 'counted';
    this.#left = bytes;
    this.isWhole = bytes === 0;
  }

  #readCounted(bytes: Buffer): Buffer | undefined {
    if (bytes.length > this.#left) throw new MalformedResponseError('bytes after the answer');
    this.#left -= bytes.length;
    this.isWhole = this.#left === 0;
    return bytes.length > 0 ? bytes : undefined;
  }

  #readChunks(bytes: Buffer): Buffer | undefined {
    let begin = 0;
    let end = 0;
    let at = 0;
    while (at < bytes.length) {
      if (this.#step === 'chunk') {
        const length = Math.min(this.#left, bytes.length - at);
        if (end === 0) begin = at;
        else bytes.copyWithin(end, at, at + length);
        end = end === 0 ? at + length : end + length;
        at += length;
        this.#left -= length;
        if (this.#left === 0) this.#step = 'chunkEnd';
      } else if (this.#step === 'trailers') {
        // Trailers mean nothing here.
        const section = this.#readSection(bytes.subarray(at));
        for (const line of section?.lines.slice(1) ?? []) readHeader(line);
        if (section && section.rest.length > 0) throw new MalformedResponseError('bytes after the answer');
        this.isWhole = section !== undefined;
        break;
      } else {
        this.#readFraming(bytes[at] as number);
        at += 1;
      }
    }
    return end > 0 ? bytes.subarray(begin, end) : undefined;
  }

  /** Takes one byte that is not of the body. */
  #readFraming(byte: number): void {
    switch (this.#step) {
      case 'size': {
        const digit = DIGITS[byte] ?? NO_DIGIT;
        if (digit !== NO_DIGIT && this.#digits < MAX_SIZE_DIGITS) {
          this.#left = this.#left * 16 + digit;
          this.#digits += 1;
        } else if (this.#digits > 0 && (byte === CR || byte === SEMICOLON)) {
          this.#step = byte === CR ? 'sizeEnd' : 'extension';
        } else {
          throw new MalformedResponseError('no size of a chunk');
        }
        return;
      }
      case 'extension':
        if (byte === LF) throw new MalformedResponseError('a line end without its CR');
        if (byte === CR) this.#step = 'sizeEnd';
        else this.#ignore(byte);
        return;
      case 'sizeEnd':
        if (byte !== LF) throw new MalformedResponseError('a CR within a line');
        this.#step = this.#left === 0 ? 'trailers' : 'chunk';
        if (this.#left === 0) this.#begun = LINE_END;
        return;
      case 'chunkEnd':
        if (byte !== CR) throw new MalformedResponseError('a chunk longer than its size');
        this.#step = 'chunkEnded';
        return;
      default:
        if (byte !== LF) throw new MalformedResponseError('a chunk longer than its size');
        this.#step = 'size';
        this.#left = 0;
        this.#digits = 0;
        this.#ignoredBytes = 0;
    }
  }

  #ignore(byte: number): void {
    this.#ignoredBytes += 1;
    if (this.#ignoredBytes > MAX_HEAD_BYTES) throw new MalformedResponseError('extensions too large');
    if ((byte < SPACE && byte !== TAB) || byte === DELETE)
      throw new MalformedResponseError('a control in an extension');
  }
}

/** Returns the name of a header in lower case, and its value. */
function readHeader(line: string): [string, string] {
  const [, name, value = ''] = HEADER_LINE.exec(line) ?? [];
  if (name === undefined) throw new MalformedResponseError('a line is no header');
  return [name.toLowerCase(), value];
}
