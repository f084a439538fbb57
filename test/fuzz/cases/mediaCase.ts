import fc from 'fast-check';
import { maybe, someText } from './bodyFields.ts';
import { changeBytes } from './byteChange.ts';
import { byteChanges, callOf, chunkBytes, method } from './callOf.ts';
import type { CallCase } from './fuzzCase.ts';
import { headerFields } from './headerFields.ts';
import { hostileKey, hostileValue } from './hostileValues.ts';

const isAsync = fc.constantFrom(true, false, null);
const SIZES = ['512x512', '768x768', 'auto', null];

const imageBody: fc.Arbitrary<object> = fc
  .tuple(
    fc.record({ model: fc.constantFrom('flux.1-schnell', 'flux.1-schnell', 'kokoro-82m'), prompt: someText }),
    maybe({
      n: fc.constantFrom(1, 2, null, 5),
      size: fc.constantFrom(...SIZES),
      output_format: fc.constantFrom('png', 'jpeg', 'webp'),
      output_compression: fc.constantFrom(0, 100, 101),
      response_format: fc.constantFrom('b64_json', 'url'),
      quality: fc.constantFrom('hd', 'auto'),
      stream: fc.constantFrom(true, false),
      async: isAsync,
      user: someText,
    }),
  )
  .map((parts) => Object.assign({}, ...parts));

const speechBody: fc.Arbitrary<object> = fc
  .tuple(
    fc.record({
      model: fc.constant('kokoro-82m'),
      input: someText,
      voice: fc.oneof(fc.constantFrom('af_heart', 'bm_george', 'nobody'), fc.constant({ id: 'af_bella' })),
    }),
    maybe({
      response_format: fc.constantFrom('mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'),
      speed: fc.constantFrom(0.25, 1, 4, 5),
      stream_format: fc.constantFrom('audio', 'sse'),
      instructions: someText,
      async: isAsync,
    }),
  )
  .map((parts) => Object.assign({}, ...parts));

const videoBody: fc.Arbitrary<object> = fc
  .tuple(
    fc.record({ model: fc.constant('wan2.2-t2v-a14b'), prompt: someText }),
    maybe({
      seconds: fc.constantFrom('3', 3, '9', null),
      size: fc.constantFrom('832x480', 'auto'),
      input_reference: fc.constantFrom<unknown>('http://127.0.0.1:1/a.png', {
        image_url: 'data:image/png;base64,AAAA',
      }),
    }),
  )
  .map((parts) => Object.assign({}, ...parts));

const jsonCall = callOf(
  fc.oneof(
    { weight: 4, arbitrary: fc.tuple(fc.constant('/v1/images/generations'), imageBody) },
    { weight: 4, arbitrary: fc.tuple(fc.constant('/v1/audio/speech'), speechBody) },
    { weight: 1, arbitrary: fc.tuple(fc.constant('/v1/videos'), videoBody) },
  ),
);

/** A tenth of a second of silence. */
const WAV = Buffer.concat([
  Buffer.from('524946467406000057415645666d7420100000000100010040', 'hex'),
  Buffer.from('1f0000803e0000020010006461746150060000', 'hex'),
  Buffer.alloc(1_616),
]);
const FILES = [
  WAV,
  WAV,
  WAV.subarray(0, 60),
  Buffer.from('#EXTM3U\n#EXTINF:1,\n/etc/passwd\n'),
  Buffer.from('ffconcat version 1.0\nfile /etc/passwd\n'),
  Buffer.from('ID3'),
  Buffer.of(),
];

interface Part {
  name: string;
  value: Buffer;
  fileName?: string;
}

const aText = (name: string, value: fc.Arbitrary<string>): fc.Arbitrary<Part> =>
  value.map((text) => ({ name, value: Buffer.from(text) }));
const aFile = (name: string): fc.Arbitrary<Part> =>
  fc
    .tuple(fc.constantFrom(...FILES), fc.constantFrom('speech.wav', '../../x', 'a"b', '', 'é.mp3'))
    .map(([value, fileName]) => ({ name, value, fileName }));

const TRANSCRIPT_PARTS = fc.tuple(
  aText('model', fc.constantFrom('whisper-large-v3', 'whisper-large-v3', 'nobody')),
  aFile('file'),
  fc.array(
    fc.oneof(
      aText('response_format', fc.constantFrom('json', 'text', 'srt', 'vtt', 'verbose_json', 'xml')),
      aText('language', fc.constantFrom('en', 'de', 'xx', '')),
      aText('temperature', fc.constantFrom('0', '0.5', '-1', '1e400', 'NaN')),
      aText('timestamp_granularities[]', fc.constantFrom('segment', 'word', 'x')),
      aText('stream', fc.constantFrom('true', 'false', '1')),
      aText('async', fc.constantFrom('true', 'false')),
      aText('prompt', someText),
    ),
    { maxLength: 3 },
  ),
);
const VIDEO_PARTS = fc.tuple(
  aText('model', fc.constant('wan2.2-t2v-a14b')),
  aText('prompt', someText),
  fc.array(fc.oneof(aText('seconds', fc.constantFrom('3', '5', 'x')), aFile('input_reference')), { maxLength: 2 }),
);

/** One change of a form: parts that are missing, doubled, strange, or in another order. */
const partChange = fc.record({
  at: fc.nat(7),
  change: fc.oneof(
    fc.constant({ kind: 'remove' as const }),
    fc.constant({ kind: 'double' as const }),
    fc.constant({ kind: 'reverse' as const }),
    fc.record({ kind: fc.constant('value' as const), text: hostileValue }),
    fc.record({ kind: fc.constant('add' as const), name: hostileKey, text: hostileValue }),
  ),
});

function changeParts(
  parts: readonly Part[],
  { at, change }: typeof partChange extends fc.Arbitrary<infer T> ? T : never,
) {
  const place = at % Math.max(1, parts.length);
  const part = parts[place];
  if (!part) return parts;
  switch (change.kind) {
    case 'remove':
      return parts.toSpliced(place, 1);
    case 'double':
      return [...parts, part];
    case 'reverse':
      return parts.toReversed();
    case 'value':
      return parts.with(place, { ...part, value: Buffer.from(change.text) });
    case 'add':
      return [...parts, { name: change.name.replaceAll('"', ''), value: Buffer.from(change.text) }];
  }
}

const BOUNDARY = 'turnpike-fuzz';
const writeForm = (parts: readonly Part[]): Buffer =>
  Buffer.concat([
    ...parts.flatMap(({ name, value, fileName }) => [
      Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"`),
      Buffer.from(fileName === undefined ? '' : `; filename="${fileName}"\r\nContent-Type: audio/wav`),
      Buffer.from('\r\n\r\n'),
      value,
      Buffer.from('\r\n'),
    ]),
    Buffer.from(`--${BOUNDARY}--\r\n`),
  ]);

const formTypes = fc.oneof(
  { weight: 20, arbitrary: fc.constant(`multipart/form-data; boundary=${BOUNDARY}`) },
  fc.constantFrom('multipart/form-data', 'multipart/form-data; boundary=', 'multipart/form-data; boundary=x'),
);

/** Recordings and clips as forms. */
export const formCall: fc.Arbitrary<CallCase> = fc
  .tuple(
    fc.oneof(
      { weight: 3, arbitrary: fc.tuple(fc.constant('/v1/audio/transcriptions'), TRANSCRIPT_PARTS) },
      { weight: 1, arbitrary: fc.tuple(fc.constant('/v1/audio/translations'), TRANSCRIPT_PARTS) },
      { weight: 1, arbitrary: fc.tuple(fc.constant('/v1/videos'), VIDEO_PARTS) },
    ),
    fc.oneof({ weight: 1, arbitrary: fc.constant([]) }, fc.array(partChange, { minLength: 1, maxLength: 2 })),
    byteChanges,
    fc.tuple(method, headerFields, formTypes, chunkBytes),
  )
  .map(([[path, [first, second, others]], changes, damages, [called, headers, type, chunks]]) => {
    const parts = changes.reduce<readonly Part[]>(changeParts, [first, second, ...others]);
    const body = damages.reduce(changeBytes, writeForm(parts));
    // A client that says nothing of its form says that it is JSON.
    const typed = headers.map(([name, value]): readonly [string, string] =>
      name === 'content-type' && value === 'application/json' ? [name, type] : [name, value],
    );
    const isChunked = chunks !== undefined && called !== 'GET';
    return {
      kind: 'call',
      method: called,
      path,
      headers: typed,
      body: called === 'GET' ? undefined : body,
      chunkBytes: isChunked ? Math.max(chunks, 64) : undefined,
    };
  });

const jobIds = fc.oneof(
  fc.constantFrom('video_0000000000000000000000', 'job_0000000000000000000000', 'x', '__proto__', '%00', '%ff', '%2f'),
  fc.constantFrom('edits', 'characters', '..', "'%20OR%201=1--", 'a'.repeat(2_000)),
);
const queries = fc.constantFrom(
  '',
  '?index=0',
  '?index=-1',
  '?limit=1',
  '?limit=x',
  '?after=%00',
  '?order=asc',
  '?x=1',
);
const families = fc.constantFrom('/v1/videos', '/v1/images/jobs', '/v1/audio/jobs');

const jobLookUp: fc.Arbitrary<CallCase> = fc
  .tuple(
    fc.oneof(
      { weight: 1, arbitrary: fc.constant('/v1/videos') },
      { weight: 3, arbitrary: fc.tuple(families, jobIds).map(([family, id]) => `${family}/${id}`) },
      { weight: 3, arbitrary: fc.tuple(families, jobIds).map(([family, id]) => `${family}/${id}/content`) },
    ),
    queries,
    headerFields,
    fc.constantFrom('GET', 'GET', 'GET', 'DELETE', 'PUT'),
  )
  .map(([path, query, headers, called]) => ({
    kind: 'call',
    method: called,
    path: `${path}${query}`,
    headers,
    body: undefined,
    chunkBytes: undefined,
  }));

/** Images, videos, speech and recordings, as JSON and as forms; and jobs that nobody has. */
export const mediaCase: fc.Arbitrary<CallCase> = fc.oneof(
  { weight: 5, arbitrary: jsonCall },
  { weight: 4, arbitrary: formCall },
  { weight: 2, arbitrary: jobLookUp },
);
