import { createHash } from 'node:crypto';
import { bendOutput } from '../faults/bendOutput.ts';
import { encodeAudio } from '../outputs/encodeAudio.ts';
import { SPEECH_RATE, speak } from '../outputs/tones.ts';
import type { SpeechDialect, SpeechRequest } from '../personalities/personality.ts';
import type { Render } from '../replica/renderQueue.ts';
import { type Answer, bytesAnswer, jsonAnswer, streamAnswer } from '../wire/answer.ts';
import { EngineError } from '../wire/engineError.ts';
import { type Call, dialectOf, readContext, stopWhenLeft, untilRendered } from './call.ts';

/** Audio of one piece of a stream. */
const PIECE_SECONDS = 0.5;
const LEAST_LOUDNESS = 6_000;

/** POST /v1/audio/speech: whole, or in pieces as they are made. */
export async function createSpeech(call: Call): Promise<Answer> {
  const { replica, entry, fault, body } = call;
  const dialect = dialectOf(replica.personality.speech);
  const request = dialect.read(body, readContext(call));
  const { input, format, delivery } = request;
  const isOther = fault?.kind === 'output_other_size';
  const pcm = pcmOf(isOther ? input.slice(0, Math.ceil(input.length / 2)) : input, request);
  const seconds = pcm.length / 2 / SPEECH_RATE;
  const encoded = encodeAudio(pcm, format, { isStreamed: delivery !== 'whole' }).then((bytes) =>
    bendOutput(bytes, fault?.kind, { prompt: input }),
  );
  encoded.catch(() => {}); // seen when it is wanted
  const render = replica.render({
    request: entry,
    fault,
    operation: 'speech',
    prompt: input,
    units: { characters: [...input].length, seconds },
    audioSeconds: seconds,
    produce: async () => [await encoded],
  });
  if (dialect.whenClientLeaves === 'aborts') stopWhenLeft(call, render);

  const contentType = dialect.contentTypes[format];
  if (delivery === 'whole') {
    await untilRendered(render);
    return bytesAnswer(await encoded, contentType, dialect.toHeaders(request, seconds));
  }
  const pieces = inPieces(call, { render, encoded, seconds });
  if (delivery === 'stream') return streamAnswer(pieces, contentType);
  return streamAnswer(toEvents(call, pieces, { dialect, request, seconds }), 'text/event-stream');
}

/** GET /v1/audio/voices. */
export async function getVoices({ replica }: Call): Promise<Answer> {
  const { toVoices } = dialectOf(replica.personality.speech);
  return jsonAnswer(dialectOf(toVoices)(replica.knobs.voices));
}

/** Each voice has its own loudness, so that no two say the same with the same bytes. */
function pcmOf(text: string, { voice, speed }: SpeechRequest): Buffer {
  const loudness = LEAST_LOUDNESS + (createHash('sha256').update(voice).digest().readUInt16BE() % LEAST_LOUDNESS);
  return speak(text, { speed, loudness });
}

/** The bytes in pieces of half a second, each when its part of the render's time has passed. Fails in the middle by a fault. */
async function* inPieces(
  { replica, fault, left }: Call,
  { render, encoded, seconds }: { render: Render; encoded: Promise<Buffer>; seconds: number },
): AsyncGenerator<Buffer> {
  await render.started.promise;
  const bytes = await encoded;
  const count = Math.max(1, Math.ceil(seconds / PIECE_SECONDS));
  const pieceBytes = Math.ceil(bytes.length / count);
  for (let piece = 0; piece < count; piece += 1) {
    const dueMs = (render.startedMs ?? 0) + (render.renderMs * (piece + 1)) / count;
    await untilTime(replica, dueMs, left);
    if (left.aborted) return;
    if (fault?.kind.startsWith('render_') && piece >= Math.floor(count / 2)) {
      await untilRendered(render);
    }
    yield bytes.subarray(piece * pieceBytes, (piece + 1) * pieceBytes);
  }
}

async function* toEvents(
  { fault }: Call,
  pieces: AsyncIterable<Buffer>,
  { dialect, request, seconds }: { dialect: SpeechDialect; request: SpeechRequest; seconds: number },
): AsyncGenerator<Buffer> {
  try {
    for await (const piece of pieces) yield dialect.toDelta(piece, request);
  } catch (error) {
    if (!dialect.toErrorEvent) throw error;
    yield dialect.toErrorEvent(error instanceof EngineError ? error.message : 'Internal server error');
    return;
  }
  if (fault?.kind !== 'speech_without_done') yield dialect.toDone(request, seconds);
}

/** Until then, or until the client has left. */
function untilTime({ clock }: Call['replica'], dueMs: number, left: AbortSignal): Promise<void> {
  const delayMs = dueMs - clock.nowMs();
  if (delayMs <= 0 || left.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const cancel = Number.isFinite(delayMs) ? clock.wakeAfter(delayMs, resolve) : undefined;
    const leave = () => {
      cancel?.();
      resolve();
    };
    left.addEventListener('abort', leave, { once: true });
  });
}
