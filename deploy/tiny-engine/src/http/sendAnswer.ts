import type { ServerResponse } from 'node:http';
import type { Generation } from '../inference/generation.ts';
import { type AnswerBodies, toRunningUsage, toUsage } from '../wire/answerBodies.ts';
import { type EngineError, internalError } from '../wire/engineError.ts';

export function sendText(
  res: ServerResponse,
  text: string,
  { status = 200, contentType }: { status?: number; contentType: string },
): void {
  res.writeHead(status, { 'content-type': contentType, 'content-length': Buffer.byteLength(text) });
  res.end(text);
}

export function sendJson(res: ServerResponse, body: object, status = 200): void {
  sendText(res, JSON.stringify(body), { status, contentType: 'application/json' });
}

export const sendError = (res: ServerResponse, error: EngineError): void => sendJson(res, error.toBody(), error.status);

/** Sends the answer once all of it is there. */
export async function sendWhole(res: ServerResponse, generation: Generation, bodies: AnswerBodies): Promise<void> {
  let text = '';
  for await (const piece of generation.run()) text += piece;
  if (!res.destroyed) sendJson(res, bodies.whole(text, endingOf(generation), toUsage(generation)));
}

const toEvent = (body: object): string => `data: ${JSON.stringify(body)}\n\n`;

export interface StreamUsage {
  /** A last chunk with the usage of the whole answer. */
  atEnd: boolean;
  /** On every chunk, what was used up to it. */
  continuous: boolean;
}

/**
 * Sends the answer as it is made: headers at once, an event a token, the usage where it was asked for, `[DONE]`. A slow
 * reader does not hold up the engine; what waits for it is bounded by the window.
 */
export async function sendStream(
  res: ServerResponse,
  generation: Generation,
  { bodies, usage }: { bodies: AnswerBodies; usage: StreamUsage },
): Promise<void> {
  const send = (body: object) =>
    res.write(toEvent(usage.continuous ? { ...body, usage: toRunningUsage(generation) } : body));
  res.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  res.flushHeaders();
  let isOpen = false;
  try {
    for await (const piece of generation.run()) {
      if (!isOpen && bodies.opening) send(bodies.opening());
      isOpen = true;
      if (generation.finishReason) send(bodies.chunk(piece, endingOf(generation)));
      else if (piece !== '') send(bodies.chunk(piece));
    }
    if (usage.atEnd) res.write(toEvent(bodies.usageChunk(toUsage(generation))));
  } catch {
    res.write(toEvent(internalError().toBody()));
  }
  res.end('data: [DONE]\n\n');
}

const endingOf = ({ finishReason = 'abort', stopReason }: Generation) => ({ finishReason, stopReason });
