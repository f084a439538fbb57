import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import type { Fault } from '../faults/fault.ts';
import { writeHead } from './sendAnswer.ts';
import { type ResponseBody, SplitWriter } from './splitWriter.ts';

/** Events that one write holds under `joined_events`. */
const JOINED_EVENTS = 8;
const ENDLESS_INTERVAL_MS = 100;
/** Bytes that a body under `wrong_content_length` promises and lacks. */
const MISSING_BYTES = 100;
/** Length that a stream under that fault promises, because its own is unknown. No stream is as long. */
const PROMISED_STREAM_BYTES = 2 ** 40;

/** Writes the head of a 200 and opens its body; a fault of the framing decides how the bytes arrive. */
export function openBody(
  res: ServerResponse,
  { contentType, fault, length }: { contentType: string; fault: Fault | undefined; length: number | undefined },
): ResponseBody {
  const headers: OutgoingHttpHeaders = {
    'content-type': fault?.kind === 'wrong_content_type' ? 'text/html' : contentType,
  };
  if (fault?.kind === 'wrong_content_length')
    headers['content-length'] = (length ?? PROMISED_STREAM_BYTES) + MISSING_BYTES;
  else if (fault?.kind === 'truncated_gzip') headers['content-encoding'] = 'gzip';
  else if (length !== undefined && !changesLength(fault)) headers['content-length'] = length;
  writeHead(res, 200, headers);
  return bodyOf(res, fault);
}

const changesLength = (fault: Fault | undefined): boolean =>
  fault?.kind === 'never_ending' || fault?.kind === 'trailing_bytes';

function bodyOf(res: ServerResponse, fault: Fault | undefined): ResponseBody {
  const plain: ResponseBody = {
    write: (text) => res.write(text),
    onceDrained: (resume) => res.once('drain', resume),
    end: (text) => res.end(text),
  };
  switch (fault?.kind) {
    case 'split_writes':
    case 'split_utf8':
      return new SplitWriter(res, fault.kind);
    case 'crlf':
      return mapped(plain, (text) => text.replaceAll('\n', '\r\n'));
    case 'comments':
      return mapped(plain, (text) => text.replaceAll('data: ', ': a comment\n\n: another\n: and one inside\ndata: '));
    case 'joined_events':
      return joined(plain);
    case 'wrong_content_length':
      return { ...plain, end: (text) => res.write(text, () => res.socket?.destroy()) };
    case 'truncated_gzip':
      return truncatedGzip(res);
    case 'never_ending':
      return { ...plain, end: (text) => endless(res, text) };
    case 'trailing_bytes':
      return { ...plain, end: (text) => res.end(`${text}data: {"trailing":true}\n\n`) };
    default:
      return plain;
  }
}

const mapped = (body: ResponseBody, map: (text: string) => string): ResponseBody => ({
  write: (text) => body.write(map(text)),
  onceDrained: (resume) => body.onceDrained(resume),
  end: (text) => body.end(map(text)),
});

/** Holds events back until there are several for one write. */
function joined(body: ResponseBody): ResponseBody {
  let held = '';
  return {
    ...body,
    write(text) {
      held += text;
      if (held.split('\n\n').length <= JOINED_EVENTS) return true;
      const events = held;
      held = '';
      return body.write(events);
    },
    end: (text) => body.end(held + text),
  };
}

/** Compresses all of it and breaks off in the middle; nothing is sent before the end. */
function truncatedGzip(res: ServerResponse): ResponseBody {
  let all = '';
  return {
    write(text) {
      all += text;
      return true;
    },
    onceDrained: () => {},
    end(text) {
      const bytes = gzipSync(all + text);
      res.end(bytes.subarray(0, Math.floor(bytes.length / 2)));
    },
  };
}

/** After the content, sends a line now and then until the client leaves. */
function endless(res: ServerResponse, text: string): void {
  res.write(text);
  const timer = setInterval(() => res.write('\n'), ENDLESS_INTERVAL_MS);
  res.once('close', () => clearInterval(timer));
}
