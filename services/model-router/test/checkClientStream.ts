import { isUtf8 } from 'node:buffer';
import { chatChunkSchema } from '@turnpike/public-api/chatAnswer';
import { z } from 'zod';

const errorSchema = z.strictObject({
  error: z.strictObject({
    message: z.string().min(1),
    type: z.string().nullable(),
    param: z.string().nullable(),
    code: z.string().nullable(),
  }),
});

/**
 * Returns how a stream of chat chunks ended for the client, and its chunks. Throws unless the stream is well formed:
 * whole events, comments, and chunks with one identity. It has one role at the beginning and one finish reason at most,
 * then either `[DONE]` or one error.
 */
export function checkClientStream(bytes: Buffer): { end: 'done' | 'error'; chunks: z.infer<typeof chatChunkSchema>[] } {
  if (!isUtf8(bytes)) throw new Error('not UTF-8');
  const events = bytes.toString('utf8').replaceAll(': keep-alive\n', '').split('\n\n');
  if (events.pop() !== '') throw new Error('ends inside an event');
  const datas = events.map(toData);
  const last = datas.pop();
  if (last === undefined) throw new Error('ends without a word');
  const chunks = datas.map((data) => chatChunkSchema.parse(JSON.parse(data)));
  checkOneAnswer(chunks);
  if (last === '[DONE]') {
    if (!chunks.some(({ choices }) => choices[0]?.finish_reason)) throw new Error('done without a finish reason');
    return { end: 'done', chunks };
  }
  errorSchema.parse(JSON.parse(last));
  return { end: 'error', chunks };
}

function toData(event: string): string {
  if (!event.startsWith('data: ') || event.includes('\n')) throw new Error(`no event: ${event}`);
  return event.slice('data: '.length);
}

function checkOneAnswer(chunks: z.infer<typeof chatChunkSchema>[]): void {
  if (new Set(chunks.map(({ id, created, model }) => `${id} ${created} ${model}`)).size > 1)
    throw new Error('chunks of several answers');
  const choices = chunks.flatMap(({ choices: [choice] }) => (choice ? [choice] : []));
  if (choices.findLastIndex(({ delta }) => delta.role !== undefined) > 0) throw new Error('a role within the answer');
  if (choices[0] && choices[0].delta.role === undefined) throw new Error('an answer without a role');
  const finish = choices.findIndex(({ finish_reason: reason }) => reason !== null);
  if (finish !== -1 && finish !== choices.length - 1) throw new Error('something after the finish reason');
}
